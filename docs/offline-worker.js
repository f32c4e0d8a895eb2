// Browsers start no worker for a page opened from the file system. There, the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.loaded = new Promise((resolve, reject) => {
        document.documentElement.append(this.frame)
        const inside = this.frame.contentWindow, script = inside.document.createElement("script")
        inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
        script.src = new URL(url, location).href
        script.onload = resolve
        script.onerror = reject
        inside.document.body.append(script)
      })
    }
    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() { this.frame.remove() }
  }
}
