"""People who sign in by OIDC (OpenID Connect), beside programs with keys. Off unless
`UMBEL_OIDC_ISSUER` is set. Start with `people`.

- `people`: who sent a request, by the cookie of a session or a token of the issuer.
- `issuer`: the issuer's addresses and public keys; codes exchanged, tokens checked.
- `groups`: which tenant, role and tags each group of the issuer has here.
- `sessions`: sessions in Redis, found by the SHA-256 of their cookie.
"""
