"""Live experiments that last: a durable store, the desk that changes them, and the HTTP service around it."""
