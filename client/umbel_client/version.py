"""The versions of the client and of the API that it speaks."""

VERSION = "1.0.0rc1"
API_VERSION = "1"
