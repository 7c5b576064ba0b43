package bench

import (
	"context"
	"net"
	"sync/atomic"
)

// roundTrips counts how often clients spoke to a server: once whenever a connection writes after it has read, or for the first
// time. For TDS, where one side speaks at a time, that is the number of requests, logins included; it works under TLS too.
type roundTrips struct{ n atomic.Int64 }

// count is the number so far.
func (r *roundTrips) count() int64 { return r.n.Load() }

// countingDialer opens TCP connections that are counted.
type countingDialer struct{ trips *roundTrips }

// DialContext implements mssql.HostDialer.
func (d countingDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c, trips: d.trips}, nil
}

// HostName implements mssql.HostDialer; the network is this machine's.
func (countingDialer) HostName() string { return "" }

// countedConn is a connection that counts.
type countedConn struct {
	net.Conn
	trips   *roundTrips
	writing atomic.Bool // no answer was read since the last write
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
