package bench

import (
	"context"
	"net"
	"sync/atomic"
)

// roundTrips counts round trips: the first write of a connection, and each write that follows a
// read. In TDS, where client and server take turns, that is the number of requests, logins
// included. It works for TLS connections too.
type roundTrips struct{ n atomic.Int64 }

// count returns the current number.
func (r *roundTrips) count() int64 { return r.n.Load() }

// countingDialer opens TCP connections whose round trips are counted.
type countingDialer struct{ trips *roundTrips }

// DialContext implements mssql.HostDialer.
func (d countingDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c, trips: d.trips}, nil
}

// HostName implements mssql.HostDialer. The empty name makes the driver resolve the server's name
// on this machine.
func (countingDialer) HostName() string { return "" }

// countedConn is a connection whose round trips are counted.
type countedConn struct {
	net.Conn
	trips   *roundTrips
	writing atomic.Bool // nothing was read since the last write
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.writing.Store(false)
	}
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	if !c.writing.Swap(true) {
		c.trips.n.Add(1)
	}
	return c.Conn.Write(p)
}
