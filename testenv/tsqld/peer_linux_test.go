package tsqld

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// Guesses of another user of the machine do not lock out the logins that this user uses.
func TestGuessesOfAnotherUserOnLoopback(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can open connections as another user")
	}
	for _, host := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", host)
			if err != nil && strings.HasPrefix(host, "[") {
				t.Skipf("no IPv6 here: %v", err)
			}
			require.NoError(t, err)
			f := newRealServer(t, Config{})
			done := make(chan error, 1)
			go func() { done <- f.Serve(l) }()
			logIn := func(uid int, password string) *rawClient {
				c := &rawClient{t: t, conn: dialAs(t, l.Addr(), uid), version: tds.Version74}
				t.Cleanup(func() { _ = c.conn.Close() })
				c.out = tds.NewMessageWriter(c.conn, 512)
				c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "sa", Password: tds.Secret(password)}))
				return c
			}
			const nobody = 65534
			var guesses []*rawClient // at once: each answer is delayed
			for range failuresBeforeLock {
				guesses = append(guesses, logIn(nobody, "wrong"))
			}
			for _, c := range guesses {
				require.Equal(t, []int32{18456}, c.answer().numbers)
			}
			locked, _ := f.lockout.check(loopbackKey+" 65534", "sa")
			require.True(t, locked, "the guesser is locked out")
			require.NotZero(t, logIn(0, "secret").answer().ack, "and this user is not")
			require.NoError(t, l.Close())
			<-done
		})
	}
}

// dialAs opens a connection whose socket belongs to a user.
func dialAs(t *testing.T, address net.Addr, uid int) net.Conn {
	t.Helper()
	type result struct {
		c   net.Conn
		err error
	}
	opened := make(chan result)
	go func() {
		runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0); e != 0 {
			opened <- result{nil, e}
			return
		}
		c, err := net.Dial("tcp", address.String())
		opened <- result{c, err}
	}()
	r := <-opened
	require.NoError(t, r.err)
	return r.c
}

// The kernel tells the user of an open connection, and nothing of one that is not there.
func TestSocketUser(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", host)
		if err != nil && strings.HasPrefix(host, "[") {
			t.Logf("no IPv6 here: %v", err)
			continue
		}
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		local, remote := netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String())
		user, ok := socketUser(local, remote)
		if !ok {
			t.Skip("the kernel has no sock_diag for TCP")
		}
		require.Equal(t, strconv.Itoa(os.Getuid()), user)
		_, ok = socketUser(remote, netip.AddrPortFrom(local.Addr(), 1))
		require.False(t, ok)
		_, ok = socketUser(remote, remote)
		require.False(t, ok, "the listener is not a connection")
	}
}

// The tables of sockets are read as proc(5) describes them.
func TestFindUser(t *testing.T) {
	t.Parallel()
	const v4 = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0599 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105        0 1 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:0599 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
   2: broken
`
	const v6 = `   0: 00000000000000000000000001000000:C350 00000000000000000000000001000000:0599 01 00000000:00000000 00:00000000 00000000    42        0 3
   1: 0000000000000000FFFF00000100007F:C351 0000000000000000FFFF00000100007F:0599 01 00000000:00000000 00:00000000 00000000    43        0 4
`
	for _, c := range []struct{ table, local, want string }{
		{v4, "127.0.0.1:50000", "1000"}, {v4, "127.0.0.1:50001", ""}, {v4, "127.0.0.2:50000", ""},
		{v4, "[::ffff:127.0.0.1]:50000", "1000"}, {v6, "127.0.0.1:50001", "43"},
	} {
		user, ok := findUser(strings.NewReader(c.table), netip.MustParseAddrPort(c.local), netip.MustParseAddrPort("127.0.0.1:1433"))
		require.Equal(t, c.want, user, c.local)
		require.Equal(t, c.want != "", ok)
	}
	user, _ := findUser(strings.NewReader(v6), netip.MustParseAddrPort("[::1]:50000"), netip.MustParseAddrPort("[::1]:1433"))
	require.Equal(t, "42", user)
}
