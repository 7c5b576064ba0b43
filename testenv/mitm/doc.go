// Package mitm is somebody who sits between a client and a server and can read and change what passes: tests look whether a client notices, and whether
// its secrets stay its own. It is also a server's front with a certificate of any kind, for tests of what clients accept.
package mitm
