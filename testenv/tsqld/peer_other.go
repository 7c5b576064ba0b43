//go:build !linux

package tsqld

import "net/netip"

// socketUser returns the user ID of a TCP socket of this machine. Only Linux tells it.
func socketUser(_, _ netip.AddrPort) (user string, ok bool) { return "", false }
