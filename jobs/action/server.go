package action

import (
	"errors"
	"net/url"
	"strings"
)

// Endpoint returns the URL of an attempt, which counts from 1.
func (h *HTTP) Endpoint(attempt int) string {
	if len(h.Endpoints) == 0 {
		return h.URL
	}
	return h.Endpoints[(max(attempt, 1)-1)%len(h.Endpoints)]
}

// ServerOf returns the name of the server that an attempt calls; see [Definition.Server].
func (h *HTTP) ServerOf(attempt int) (string, error) { return serverOf(h.Endpoint(attempt)) }

// Server returns the name under which limits count the action, and the name of its target if the
// step has no target group: the host in lower case, with its port unless that is the default of the
// scheme; or process: and the entry. Of several endpoints it is the first. The error is for a host
// that contains a template: the definition must be expanded first.
func (d *Definition) Server() (string, error) {
	switch {
	case d.HTTP != nil:
		return d.HTTP.ServerOf(1)
	case d.StorageQueue != nil:
		return serverOf(d.StorageQueue.BaseURL())
	case d.ServiceBus != nil:
		return serverOf("https://" + d.ServiceBus.Host())
	}
	return ProcessPrefix + d.Process.Entry, nil
}

// ProcessPrefix and the name of an entry stand for a process where other actions have a host.
const ProcessPrefix = "process:"

// Addresses returns the addresses of everything that receives a part of an expanded definition in
// an attempt, which counts from 1: URLs, or process: and the entry.
func (d *Definition) Addresses(attempt int) []string {
	switch {
	case d.HTTP != nil:
		list := []string{d.HTTP.Endpoint(attempt)}
		if d.HTTP.Auth != nil && d.HTTP.Auth.TokenURL != "" {
			list = append(list, d.HTTP.Auth.TokenURL)
		}
		return list
	case d.StorageQueue != nil:
		return []string{d.StorageQueue.BaseURL()}
	case d.ServiceBus != nil && d.ServiceBus.AMQP:
		return []string{"amqps://" + d.ServiceBus.Host()}
	case d.ServiceBus != nil:
		return []string{"https://" + d.ServiceBus.Host()}
	}
	return []string{ProcessPrefix + d.Process.Entry}
}

// serverOf returns the server of a URL.
func serverOf(address string) (string, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	if hasTemplate(host) {
		return "", errors.New("the host contains a template")
	}
	host = strings.ToLower(host)
	if scheme = strings.ToLower(scheme); scheme == "http" {
		return strings.TrimSuffix(host, ":80"), nil
	}
	return strings.TrimSuffix(host, ":443"), nil
}

// BaseURL returns the URL of the storage account's queues, without a slash at its end.
func (q *StorageQueue) BaseURL() string {
	switch {
	case strings.Contains(q.Account, "://"):
		if u, err := url.Parse(q.Account); err == nil {
			return strings.TrimSuffix(u.String(), "/")
		}
		return q.Account
	case strings.ContainsAny(q.Account, ".:"):
		return "https://" + q.Account
	}
	return "https://" + q.Account + ".queue.core.windows.net"
}

// Host returns the host of the namespace, with a port if the definition has one.
func (b *ServiceBus) Host() string {
	if strings.ContainsAny(b.Namespace, ".:") {
		return b.Namespace
	}
	return b.Namespace + ".servicebus.windows.net"
}
