package fleet

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Config says how the databases of a fleet behave. The zero value is a fleet without databases that
// answers at once.
type Config struct {
	// Databases is how many databases each server of the fleet lists. Databases of other names
	// exist, too.
	Databases int
	// Delay is how long a script takes, on average. Each takes between a half and one and a half of
	// it.
	Delay time.Duration
	// Failures is the share of scripts that fail with error 50000, from 0 to 1.
	Failures float64
	// Refusals is the share of logins that fail with error 18456, from 0 to 1.
	Refusals float64
	// Seed changes the draws.
	Seed uint64
	// OnScript is called when a script has ended without an attention, and before its answer is
	// sent: with the database and whether the script failed. Several connections may call it at
	// once. Nil: nothing is called.
	OnScript func(database string, failed bool)
}

// Fleet serves all databases. It is safe for concurrent use.
type Fleet struct {
	cfg     Config
	numbers atomic.Uint64 // of connections

	scripts, failed, refused, attentions, most atomic.Int64

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	running   sync.WaitGroup
}

// Counts is what a fleet has done.
type Counts struct {
	Scripts    int // that ended without an attention
	Failed     int // of them, with an error
	Refused    int // logins
	Attentions int // scripts that the client canceled
	Most       int // open connections at once
}

// New returns a fleet. The caller must close it.
func New(cfg Config) *Fleet { return &Fleet{cfg: cfg, conns: map[net.Conn]struct{}{}} }

// Name returns the name of a database that a server of a fleet lists, counted from 0.
func Name(i int) string { return fmt.Sprintf("t%06d", i) }

// Counts returns what the fleet has done.
func (f *Fleet) Counts() Counts {
	return Counts{
		Scripts: int(f.scripts.Load()), Failed: int(f.failed.Load()), Refused: int(f.refused.Load()),
		Attentions: int(f.attentions.Load()), Most: int(f.most.Load()),
	}
}

// Listen starts to serve a listener on a free port of the loopback address until Close. It returns
// the server's name as target groups have it. The error is that of the listener.
func (f *Fleet) Listen(ctx context.Context) (server string, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	tcp, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return "", errors.Join(fmt.Errorf("the listener has the address %s", l.Addr()), l.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return "", errors.Join(net.ErrClosed, l.Close())
	}
	f.listeners = append(f.listeners, l)
	f.running.Go(func() { f.serve(l) })
	return fmt.Sprintf("127.0.0.1,%d", tcp.Port), nil
}

// serve accepts connections until the listener is closed.
func (f *Fleet) serve(l net.Listener) {
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			f.start(nc)
		case errors.Is(err, net.ErrClosed):
			return
		}
	}
}

// DialContext opens a connection in memory, and ignores its arguments. With HostName it makes the
// fleet a mssqldb.HostDialer, for tests in virtual time. The error is that of a closed fleet.
func (f *Fleet) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	if !f.start(server) {
		return nil, errors.Join(net.ErrClosed, client.Close())
	}
	return client, nil
}

// HostName implements mssqldb.HostDialer.
func (f *Fleet) HostName() string { return "fleet" }

// start serves a connection. It returns false, and closes the connection, if the fleet is closed.
func (f *Fleet) start(nc net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		_ = nc.Close() // nobody has used the connection
		return false
	}
	f.conns[nc] = struct{}{}
	f.most.Store(max(f.most.Load(), int64(len(f.conns)))) // under f.mu
	f.running.Go(func() {
		newConn(f, nc).serve()
		_ = nc.Close() // the client may have closed it
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.conns, nc)
	})
	return true
}

// Close closes the listeners and all connections, and waits for their goroutines. Later calls
// return at once.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.closed = true
	for _, l := range f.listeners {
		_ = l.Close() // a second call
	}
	for nc := range f.conns {
		_ = nc.Close() // the client may have closed it
	}
	f.mu.Unlock()
	f.running.Wait()
}

// draw returns the numbers that decide on a connection to a database.
func (f *Fleet) draw(database string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(database)) // a hash returns no error
	return rand.New(rand.NewPCG(f.cfg.Seed^h.Sum64(), f.numbers.Add(1)))
}

// delay draws how long a script takes.
func (f *Fleet) delay(r *rand.Rand) time.Duration {
	if f.cfg.Delay <= 0 {
		return 0
	}
	return f.cfg.Delay/2 + time.Duration(r.Int64N(int64(f.cfg.Delay)+1))
}
