"""The versions of the client and of the API that it speaks."""

VERSION = "0.1.0"
API_VERSION = "1"
