package outbound

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/targets/secretref"
)

// parseProxy parses the proxy of the configuration.
func (n *Network) parseProxy() error {
	text := n.cfg.Proxy
	if text == "" {
		if n.cfg.ProxyCredential != "" {
			return errors.New("proxy_credential needs a proxy")
		}
		return nil
	}
	if !n.cfg.TrustProxyACL {
		return errors.New("a proxy decides which addresses are dialed: set trust_proxy_acl to true if its rules suffice")
	}
	if text == proxyEnvironment {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return errors.New("invalid URL: want http://, https:// or socks5:// with a host, or env")
	case u.User != nil:
		return errors.New("invalid URL: give user and password by proxy_credential")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return fmt.Errorf("invalid scheme %q: want http, https or socks5", u.Scheme)
	}
	n.proxy = u
	return nil
}

// proxyFor returns the proxy for a URL, with user and password; nil for none.
func (n *Network) proxyFor(target *url.URL) (*url.URL, error) {
	proxy := n.proxy
	if n.cfg.Proxy == proxyEnvironment {
		u, err := http.ProxyFromEnvironment(&http.Request{URL: target})
		if err != nil {
			return nil, configError("proxy", errors.New("the environment names an invalid proxy"))
		}
		proxy = u
	}
	if proxy == nil || n.cfg.ProxyCredential == "" {
		return proxy, nil
	}
	text, err := secretref.Read(n.cfg.ProxyCredential)
	if err != nil {
		return nil, configError("proxy_credential", err)
	}
	user, password, _ := strings.Cut(text, ":")
	with := *proxy
	with.User = url.UserPassword(user, password)
	return &with, nil
}

// checkProxied checks the host of a request that goes through a proxy. A name that does not resolve
// here is left to the proxy.
func (n *Network) checkProxied(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	addresses, err := n.resolve(ctx, host)
	if err != nil {
		return nil
	}
	for _, addr := range addresses {
		if err := n.guard.checkAddress(host, addr); err != nil {
			return err
		}
	}
	return nil
}

// dialProxy connects to a proxy itself. The configuration names it, so that no rule checks it.
func (n *Network) dialProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	address := net.JoinHostPort(proxy.Hostname(), port)
	var c net.Conn
	var err error
	if n.cfg.Dialer != nil {
		c, err = n.cfg.Dialer(ctx, "tcp", address)
	} else {
		dialer := net.Dialer{KeepAlive: -1}
		c, err = dialer.DialContext(ctx, "tcp", address)
	}
	if err != nil || proxy.Scheme != "https" {
		return c, err
	}
	return n.handshake(ctx, c, address, nil)
}

// tunnel connects to a host through a proxy.
func (n *Network) tunnel(ctx context.Context, proxy *url.URL, host string, port uint16) (net.Conn, error) {
	c, err := n.dialProxy(ctx, proxy)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	switch proxy.Scheme {
	case "socks5", "socks5h":
		err = socks5(c, proxy.User, host, port)
	default:
		err = connectTunnel(c, proxy.User, net.JoinHostPort(host, strconv.Itoa(int(port))))
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// maxProxyAnswer bounds the header of a proxy's answer.
const maxProxyAnswer = 16 << 10

// connectTunnel asks an HTTP proxy for a tunnel. The proxy's answer is read byte by byte, because
// the bytes that follow it belong to the tunnel.
func connectTunnel(c net.Conn, user *url.Userinfo, address string) error {
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if user != nil {
		password, _ := user.Password()
		request += "Proxy-Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := c.Write([]byte(request + "\r\n")); err != nil {
		return err
	}
	var answer []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(answer[max(0, len(answer)-4):]), "\r\n\r\n"); {
		if len(answer) == maxProxyAnswer {
			return errors.New("the proxy's answer is too long")
		}
		if _, err := c.Read(b); err != nil {
			return fmt.Errorf("read the proxy's answer: %w", err)
		}
		answer = append(answer, b[0])
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(answer))), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return errors.New("the proxy's answer is malformed")
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy refused the connection with status %d", resp.StatusCode)
	}
	return nil
}
