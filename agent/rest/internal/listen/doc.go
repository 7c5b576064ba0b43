// Package listen has the network side of the front and of the receiver of callbacks: TLS with
// certificates that are read again when they change, a bounded number of connections, and limits of
// time for slow clients.
package listen
