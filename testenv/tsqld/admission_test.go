package tsqld

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

func TestMaxConnections(t *testing.T) {
	t.Parallel()
	told := make(chan LoginFailure, 10)
	f := newFixture(t, Config{MaxConnections: 3, OnLoginFailed: func(l LoginFailure) { told <- l }})
	db := f.dial(t, "encrypt=disable")
	first, err := db.Conn(t.Context())
	require.NoError(t, err)
	for range 2 {
		_, err := db.Conn(t.Context())
		require.NoError(t, err)
	}
	_, err = db.Conn(t.Context())
	require.Equal(t, int32(17809), number(err))
	require.ErrorContains(t, err, "maximum number of '3' user connections")
	require.Equal(t, reasonFull, (<-told).Reason)
	require.NoError(t, first.Raw(func(c any) error { return c.(*mssql.Conn).Close() }))
	// The place is free when the server has noticed that the client is gone.
	for {
		if _, err = db.Conn(t.Context()); number(err) != 17809 {
			break
		}
	}
	require.NoError(t, err)
}

// Idle clients, from one address or many, neither keep other clients out nor exceed the server's
// limit of connections.
func TestHalfOpenConnections(t *testing.T) {
	for name, address := range map[string]func(i int) string{
		"one address":       func(int) string { return "192.0.2.1" },
		"the user's own":    func(int) string { return "192.0.2.99" },
		"different address": func(i int) string { return net.IPv4(10, 0, byte(i/250), byte(i%250)).String() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				dropped := 0
				f := newFixture(t, Config{OnEnd: func(_ net.Addr, err error) {
					mu.Lock()
					defer mu.Unlock()
					if errors.Is(err, errDropped) {
						dropped++
					}
				}})
				const silent = 600
				for i := range silent {
					c := connectFrom(t, f, address(i))
					if i%2 == 0 { // some clients send a few bytes
						_, err := c.conn.Write([]byte{0x12})
						require.NoError(t, err)
					}
				}
				synctest.Wait()
				f.admission.mu.Lock()
				pending := len(f.admission.pending)
				f.admission.mu.Unlock()
				require.LessOrEqual(t, pending, maxPending)
				require.GreaterOrEqual(t, pending, maxPendingPerAddress)
				start := time.Now()
				require.Zero(t, logInFrom(t, f, "192.0.2.99", "sa", "secret"))
				// All idle clients connected before the user: in the worst case the user waits for
				// them.
				require.LessOrEqual(t, time.Since(start), (silent/maxPendingPerAddress+1)*idleLimit)
				time.Sleep(time.Hour)
				synctest.Wait()
				require.Empty(t, f.admission.pending)
				require.Empty(t, f.admission.byAddress)
				require.Zero(t, f.admission.loggedIn)
				mu.Lock()
				defer mu.Unlock()
				require.GreaterOrEqual(t, dropped, silent-maxPending)
			})
		})
	}
}

// A client that sends a byte from time to time also makes room for others.
func TestSlowLoginsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{})
		for range maxPendingPerAddress {
			c := connectFrom(t, f, "192.0.2.1")
			go func() {
				for {
					if _, err := c.conn.Write([]byte{0x12}); err != nil {
						return
					}
					time.Sleep(idleLimit / 2)
				}
			}()
		}
		time.Sleep(idleLimit)
		start := time.Now()
		require.Zero(t, logInFrom(t, f, "192.0.2.1", "sa", "secret"))
		require.LessOrEqual(t, time.Since(start), pendingLimit)
		time.Sleep(loginTime)
		synctest.Wait()
	})
}

// All logins of a burst from one address are admitted.
func TestBurstOfLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{})
		db := f.dial(t, "encrypt=disable")
		var wg sync.WaitGroup
		errs := make(chan error, 3*maxPendingPerAddress)
		for range 3 * maxPendingPerAddress {
			wg.Go(func() {
				_, err := db.Conn(t.Context())
				errs <- err
			})
		}
		wg.Wait()
		for range 3 * maxPendingPerAddress {
			require.NoError(t, <-errs)
		}
	})
}

// A client that has sent PRELOGIN has more time than one that has sent nothing.
func TestClientsThatHaveBegunHaveMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{})
		begun := connectFrom(t, f, "192.0.2.1")
		begun.send(tds.PacketPrelogin, tds.AppendPrelogin(nil, &tds.Prelogin{Encryption: tds.EncryptNotSupported}))
		for range 2 * maxPendingPerAddress {
			connectFrom(t, f, "192.0.2.1")
		}
		time.Sleep(loginIdleLimit - time.Millisecond)
		_, _, err := tds.ReadMessage(begun.conn, 4096)
		require.NoError(t, err)
		begun.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "sa", Password: "secret"}))
		require.Equal(t, tds.Version74, begun.answer().ack)
		time.Sleep(loginTime)
		synctest.Wait()
	})
}

func TestRequireTLS(t *testing.T) {
	t.Parallel()
	told := make(chan LoginFailure, 10)
	f := newFixture(t, Config{RequireTLS: true, OnLoginFailed: func(l LoginFailure) { told <- l }})
	for _, e := range encryptions[1:] {
		db := f.dial(t, f.trust(t, e))
		require.Equal(t, 5, selectInt(t, db, "select 5"), e)
		f.engine.mu.Lock()
		require.True(t, f.engine.last.login.Encrypted, "%s: all is encrypted, not only the login", e)
		f.engine.mu.Unlock()
	}
	require.Error(t, f.dial(t, encryptions[0]).PingContext(t.Context()))
	require.Equal(t, LoginFailure{Address: pipeAddr("client"), Reason: reasonPlain}, <-told)
	// A client that omits PRELOGIN gets the reason; its password is not checked.
	c := connectRaw(t, f, tds.Version74)
	c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "sa", Password: "secret"}))
	require.Equal(t, []int32{17835}, c.answer().numbers)
	require.Equal(t, reasonPlain, (<-told).Reason)
	// A client that continues without encryption after the answer to its PRELOGIN is ignored.
	c = connectRaw(t, f, tds.Version74)
	c.send(tds.PacketPrelogin, tds.AppendPrelogin(nil, &tds.Prelogin{Encryption: tds.EncryptNotSupported}))
	_, payload, err := tds.ReadMessage(c.conn, 4096)
	require.NoError(t, err)
	answer, err := tds.ReadPrelogin(payload)
	require.NoError(t, err)
	require.Equal(t, tds.EncryptRequired, answer.Encryption)
	c.closed()
}

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := f.Dialer().DialContext(t.Context(), "", "")
		require.NoError(t, err)
		client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: version, NextProtos: []string{alpnTDS8}})
		require.Equal(t, ok, client.HandshakeContext(t.Context()) == nil, tls.VersionName(version))
		require.NoError(t, conn.Close())
	}
	inside, err := f.tlsConfig(false)
	require.NoError(t, err)
	require.EqualValues(t, tls.VersionTLS12, inside.MinVersion)
}
