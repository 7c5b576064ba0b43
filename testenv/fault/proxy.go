package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Proxy is a faulty network between processes. It listens on a loopback port and forwards every
// connection to a server through a [Network].
type Proxy struct {
	// Network is the network of the proxy's connections.
	Network *Network

	listener net.Listener
	mu       sync.Mutex
	clients  map[net.Conn]struct{} // accepted and not yet closed
	closed   bool
	wg       sync.WaitGroup // the accepting goroutine, and two for each connection
}

// NewProxy starts a proxy for the server at address (host:port). plan is as in [NewNetwork]. The
// caller must close the proxy.
func NewProxy(address string, plan func(Call) Kind) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the proxy: %w", err)
	}
	p := &Proxy{Network: NewNetwork(tcp{address}, plan), listener: listener, clients: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Address returns the proxy's host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Close closes the proxy and its connections, and waits for its goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listener.Close()
	for c := range p.clients {
		err = errors.Join(err, c.Close())
	}
	p.mu.Unlock()
	p.Network.Cut()
	p.wg.Wait()
	return err
}

// accept forwards connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			_ = client.Close() // not used yet
			return
		}
		p.clients[client] = struct{}{}
		p.wg.Go(func() { p.forward(client) })
		p.mu.Unlock()
	}
}

// forward copies in both directions until one side ends.
func (p *Proxy) forward(client net.Conn) {
	defer p.drop(client)
	server, err := p.Network.DialContext(context.Background(), "tcp", "")
	if err != nil {
		return // the client sees its connection end
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, readerOnly{server}) // an error of either side ends the connection
		p.drop(client)
	})
	_, _ = io.Copy(writerOnly{server}, client) // an error of either side ends the connection
	_ = server.Close()                         // ends the other direction
	back.Wait()
}

// drop closes a client's connection, once.
func (p *Proxy) drop(client net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.clients[client]; ok {
		delete(p.clients, client)
		_ = client.Close() // the connection may be broken
	}
}

// writerOnly hides all methods except Write, so io.Copy uses no other method.
type writerOnly struct{ io.Writer }

// tcp is a dialer that connects to one server, and ignores the requested address.
type tcp struct{ address string }

// HostName implements mssqldb.HostDialer.
func (d tcp) HostName() string { return "" }

// DialContext implements mssqldb.HostDialer.
func (d tcp) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", d.address)
}
