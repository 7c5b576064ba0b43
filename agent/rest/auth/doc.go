// Package auth authenticates the callers of the REST front, and authorizes their requests.
//
// It knows four kinds of credentials: tokens of OpenID Connect issuers such as Microsoft Entra ID,
// static tokens (package tokenfile), client certificates, and, for the SAP surface, user and
// password. Grants of the configuration give callers roles at scopes; tokens of the SAP surface
// carry scopes in place of grants.
//
// Package issuer issues tokens to clients of the SAP surface, and to tools in development.
package auth
