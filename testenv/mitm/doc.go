// Package mitm is a machine in the middle: a proxy between a client and a server that can read and
// change the traffic. Tests check that a client detects the proxy, and that the client's secrets
// stay secret. The package also serves certificates of any kind, to test which ones a client
// accepts.
package mitm
