"""Which transformation to learn, chosen on known clusters that are held out: `validation`."""
