// Package kerberos logs in to SQL Server with Kerberos tickets (RFC 4120), which come from a
// keytab, a credential cache or a password. It is the authenticator krb5 of go-mssqldb, in place of
// the driver's own package of this name, which asks the KDC for new tickets at every login, does
// not verify the server's answer, and reports the KDC's errors without what to do.
//
// The parameters have the driver's names: krb5-configfile, krb5-keytabfile, krb5-credcachefile,
// krb5-realm and ServerSPN.
//
// A login carries no channel binding. A server with Extended Protection set to Required refuses it
// with error 18452.
package kerberos
