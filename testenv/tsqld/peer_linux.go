package tsqld

import (
	"encoding/binary"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// Sizes and values of sock_diag(7). A request is a header of netlink(7) and a struct
// inet_diag_req_v2; an answer is a header and a struct inet_diag_msg.
const (
	diagByFamily    = 20 // SOCK_DIAG_BY_FAMILY
	diagRequestSize = unix.SizeofNlMsghdr + 56
	diagID          = 4      // the struct inet_diag_sockid in an answer
	diagUser        = 4 + 60 // idiag_uid
	diagAnswerSize  = 72
	established     = 1 // TCP_ESTABLISHED
)

// socketUser asks the kernel for the user ID of one TCP socket of this machine. Unlike a search in
// the tables of proc(5), the time does not grow with the number of sockets. ok is false if there is
// no such socket, or if the kernel cannot tell.
func socketUser(local, remote netip.AddrPort) (user string, ok bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return "", false
	}
	defer func() { _ = unix.Close(fd) }() // only read
	b := make([]byte, 0, diagRequestSize)
	b = binary.NativeEndian.AppendUint32(b, diagRequestSize)
	b = binary.NativeEndian.AppendUint16(b, diagByFamily)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence number and sender
	family := byte(unix.AF_INET)
	if local.Addr().Is6() {
		family = unix.AF_INET6
	}
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, 1<<established)
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	for _, a := range []netip.Addr{local.Addr(), remote.Addr()} {
		ip := a.AsSlice()
		b = append(append(b, ip...), make([]byte, 16-len(ip))...)
	}
	b = binary.NativeEndian.AppendUint32(b, 0)          // any interface
	b = binary.NativeEndian.AppendUint64(b, ^uint64(0)) // no cookie
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return "", false
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < unix.SizeofNlMsghdr+diagAnswerSize || binary.NativeEndian.Uint16(answer[4:]) != diagByFamily {
		return "", false
	}
	answer = answer[unix.SizeofNlMsghdr:n]
	if answer[1] != established || binary.BigEndian.Uint16(answer[diagID:]) != local.Port() || binary.BigEndian.Uint16(answer[diagID+2:]) != remote.Port() {
		return "", false
	}
	return strconv.FormatUint(uint64(binary.NativeEndian.Uint32(answer[diagUser:])), 10), true
}
