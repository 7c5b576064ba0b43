package action

import (
	"errors"
	"strings"
)

// Server returns the name under which limits count the action, and the name of its target if the
// step has no target group: the host in lower case, with its port unless that is the default of the
// scheme; or process: and the entry. Of several endpoints it is the first. The error is for a host
// that contains a template: the definition must be expanded first.
func (d *Definition) Server() (string, error) {
	return d.content().server()
}

// Addresses returns the addresses of everything that receives a part of an expanded definition in
// an attempt, which counts from 1: URLs, or process: and the entry.
func (d *Definition) Addresses(attempt int) []string {
	return d.content().addresses(attempt)
}

// ServerBy is Server of a definition that is not expanded; expand expands the address: a URL, a
// host, or a name that becomes a host.
func (d *Definition) ServerBy(expand func(address string) (string, error)) (string, error) {
	if server, err := d.Server(); err == nil {
		return server, nil
	}
	addressed := Definition{Type: d.Type}
	address := d.content().addressed(&addressed)
	expanded, err := expand(*address)
	if err != nil {
		return "", err
	}
	*address = expanded
	return addressed.Server()
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
