// Package issuer issues tokens: to clients of the SAP surface, in the form of SAP's XSUAA (S-57),
// and to tools in development, in the form of Microsoft Entra ID.
//
// It issues for client credentials only, and stores nothing: several instances of the front with
// the same keys are one issuer.
package issuer
