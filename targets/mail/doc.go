// Package mail sends e-mail by SMTP, with STARTTLS or TLS, through the guard of outbound addresses.
package mail
