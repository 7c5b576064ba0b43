package tsqld

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// from returns the address of a client.
func from(ip string) net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(ip), 50000))
}

// addressed is the server's end of a pipe, with an address for its client.
type addressed struct {
	*pipeConn
	remote net.Addr
}

// RemoteAddr implements [net.Conn].
func (a addressed) RemoteAddr() net.Addr { return a.remote }

// connectFrom opens a connection from an address, without any login.
func connectFrom(t *testing.T, f *fixture, ip string) *rawClient {
	client, server := newPipe("client", pipeHost)
	t.Cleanup(func() { client.Close() })
	go f.ServeConn(context.Background(), addressed{server, from(ip)})
	return &rawClient{t: t, conn: client, version: tds.Version74, out: tds.NewMessageWriter(client, 512)}
}

// logInFrom tries a login from an address, closes the connection, and returns the error's number, 0
// for none.
func logInFrom(t *testing.T, f *fixture, ip, user, password string) int32 {
	t.Helper()
	c := connectFrom(t, f, ip)
	defer c.conn.Close()
	c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: user, Password: tds.Secret(password)}))
	a := c.answer()
	if a.ack != 0 {
		return 0
	}
	return a.numbers[0]
}

func TestGuessesAreSlowedDownAndLockedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []LoginFailure
		f := newRealServer(t, Config{OnLoginFailed: func(l LoginFailure) { told = append(told, l) }})
		const guesser, owner = "127.0.0.1", "192.0.2.7"
		start := time.Now()
		require.EqualValues(t, 18456, logInFrom(t, f, guesser, "SA", "wrong-0"))
		require.Equal(t, firstDelay, time.Since(start))
		evaluated, locked := 1, 0
		for range 300 { // one after the other, as fast as the server answers
			switch n := logInFrom(t, f, guesser, "sa", "wrong-1"); n {
			case 18456:
				evaluated++
			case 18486:
				locked++
			default:
				t.Fatalf("error %d", n)
			}
		}
		t.Logf("%d guesses were evaluated and %d refused in %v", evaluated, locked, time.Since(start))
		require.Greater(t, time.Since(start), 9*time.Minute)
		require.Less(t, evaluated, 20)
		// During the lockout the right password does not help, and other loopback addresses are
		// locked out too. From elsewhere the owner can log in.
		require.EqualValues(t, 18486, logInFrom(t, f, guesser, "sa", "secret"))
		require.EqualValues(t, 18486, logInFrom(t, f, "127.9.9.9", "sa", "secret"))
		require.EqualValues(t, 18486, logInFrom(t, f, "::1", "sa", "secret"))
		require.Zero(t, logInFrom(t, f, owner, "sa", "secret"))
		// Logins that do not exist are locked out in the same way.
		for range failuresBeforeLock {
			require.EqualValues(t, 18456, logInFrom(t, f, guesser, "nobody", "wrong-2"))
		}
		require.EqualValues(t, 18486, logInFrom(t, f, guesser, "nobody", "wrong-2"))
		time.Sleep(longestLock)
		require.Zero(t, logInFrom(t, f, guesser, "sa", "secret"))
		require.EqualValues(t, 18456, logInFrom(t, f, guesser, "sa", "wrong-3"), "a success makes the failures forgotten")

		require.NoError(t, f.Close(t.Context()))
		reported := 0
		for _, l := range told {
			reported += 1 + l.Suppressed
			require.NotContains(t, fmt.Sprintf("%+v", l), "wrong-")
			require.NotContains(t, fmt.Sprintf("%+v", l), "secret")
			if l.Address == nil {
				reported--
			}
		}
		require.Equal(t, LoginFailure{Login: "SA", Address: from(guesser), Reason: "wrong password"}, told[0])
		require.Equal(t, 1+300+3+failuresBeforeLock+1+1, reported, "each failure is reported or counted")
		require.Less(t, len(told), 200)
	})
}

// Failures of many logins from one address lock that address out, except for logins that have
// logged in from there.
func TestGuessesAtManyLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newRealServer(t, Config{})
		const guesser = "2001:db8::1"
		require.Zero(t, logInFrom(t, f, guesser, "sa", "secret"))
		shut := 0
		for i := range 200 {
			// Other addresses of the same network are locked out too.
			if logInFrom(t, f, fmt.Sprintf("2001:db8::%x", i+2), fmt.Sprintf("user%d", i), "wrong") == 18486 {
				shut++
			}
		}
		require.Greater(t, shut, 100)
		require.EqualValues(t, 18486, logInFrom(t, f, guesser, "ann", "wrong"))
		require.Zero(t, logInFrom(t, f, guesser, "sa", "secret"))
		require.EqualValues(t, 18456, logInFrom(t, f, "2001:db8:0:1::1", "ann", "wrong"), "another network")
		require.EqualValues(t, 18456, logInFrom(t, f, "::ffff:192.0.2.1", "ann", "wrong"))
	})
}

// Guesses at one login from many addresses delay its checks, and never lock its owner out.
func TestGuessesFromManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLockout()
		for i := range 500 {
			locked, _ := b.check(addressKey(from(fmt.Sprintf("10.0.%d.%d", i/250, i%250))), "sa")
			require.False(t, locked)
			b.failed(addressKey(from(fmt.Sprintf("10.0.%d.%d", i/250, i%250))), "sa")
		}
		locked, wait := b.check(addressKey(from("192.0.2.7")), "SA")
		require.False(t, locked)
		require.Equal(t, longestDelay, wait)
		b.succeeded(addressKey(from("192.0.2.7")), "sa")
		_, wait = b.check(addressKey(from("192.0.2.7")), "sa")
		require.Zero(t, wait, "it has logged in from there")
		time.Sleep(time.Hour)
		_, wait = b.check(addressKey(from("192.0.2.8")), "sa")
		require.Zero(t, wait)
	})
}

// A program that keeps retrying a wrong password locks itself out, and no other login at its
// address.
func TestOneWrongProgramLocksOutItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLockout()
		for range 24 * 60 {
			time.Sleep(time.Minute)
			if locked, _ := b.check(addressKey(from("127.0.0.1")), "app"); !locked {
				b.failed(addressKey(from("127.0.0.1")), "app")
			}
			locked, _ := b.check(addressKey(from("127.0.0.1")), "sa")
			require.False(t, locked)
		}
	})
}

// The number of counts is limited, and pairs that have logged in are removed last.
func TestLockoutForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLockout()
		b.succeeded(addressKey(from("192.0.2.7")), "sa")
		for i := range 3 * maxEntries {
			time.Sleep(time.Millisecond)
			b.failed(addressKey(from(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))), fmt.Sprintf("user%d", i))
		}
		require.LessOrEqual(t, len(b.pairs), maxEntries)
		require.LessOrEqual(t, len(b.addresses), maxEntries)
		require.LessOrEqual(t, len(b.logins), maxEntries)
		require.True(t, b.pairs[pair{"192.0.2.7", "sa"}].known)
		time.Sleep(24 * time.Hour)
		for i := range maxEntries {
			b.failed(addressKey(from("10.0.0.1")), fmt.Sprintf("other%d", i))
		}
		require.Len(t, b.addresses, 1)
	})
}

func TestReportsOfFailuresAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []LoginFailure
		r := failureReporter{tell: func(f LoginFailure) { told = append(told, f) }}
		reports := func() []LoginFailure {
			r.mu.Lock() // held during the report
			defer r.mu.Unlock()
			return slices.Clone(told)
		}
		for range 100 {
			r.report(LoginFailure{Login: "a"})
		}
		require.Len(t, reports(), reportBurst)
		time.Sleep(reportRest)
		synctest.Wait()
		require.Len(t, reports(), reportBurst+1)
		require.Equal(t, 100-reportBurst, reports()[reportBurst].Suppressed)
		r.report(LoginFailure{Login: "b"})
		require.Equal(t, LoginFailure{Login: "b"}, reports()[reportBurst+1])
		for range 100 {
			r.report(LoginFailure{Login: "c"})
		}
		r.close()
		r.report(LoginFailure{Login: "d"})
		total := 0
		for _, f := range told {
			total += f.Suppressed
			if f.Login != "" {
				total++
			}
		}
		require.Equal(t, 201, total)
	})
}

func TestLongLoginsAreRefused(t *testing.T) {
	t.Parallel()
	var told []LoginFailure
	f := newFixture(t, Config{OnLoginFailed: func(l LoginFailure) { told = append(told, l) }})
	long := strings.Repeat("w", 129)
	for _, l := range []tds.Login{
		{User: "sa", Password: tds.Secret(long)}, {User: "nobody", Password: tds.Secret(long)},
		{User: long, Password: "secret"},
		{User: "sa", Password: "secret", Host: long}, {User: "sa", Password: "secret", App: long},
		{User: "sa", Password: "secret", Database: long},
		{User: "sa", Password: "secret", NewPassword: tds.Secret(long)},
		{User: "sa", Password: "secret", AttachFile: long + long + long},
	} {
		c := connectRaw(t, f, tds.Version74)
		l.Asked = tds.Version74
		c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &l))
		a := c.answer()
		require.Equal(t, []int32{17832}, a.numbers)
		c.conn.Close()
	}
	require.NotContains(t, fmt.Sprintf("%+v", told), "www")
	c := connectRaw(t, f, tds.Version74)
	longest := strings.Repeat("w", 128)
	c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: longest, Password: "secret", App: longest, Host: longest}))
	require.Equal(t, tds.Version74, c.answer().ack)
}
