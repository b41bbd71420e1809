"""Sign-in by OIDC, against an issuer that the tests serve (`issuer_kit`)."""
