"""`hermes doctor`: what is wrong with this machine, home and configuration. It looks, and changes nothing."""
