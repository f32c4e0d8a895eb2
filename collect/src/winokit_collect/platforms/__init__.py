"""Sources of workers: arrivals, departures and payments."""
