package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/agent/rest/scrape"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Metrics configures what Prometheus may read. A front serves metrics at /metrics of its address.
type Metrics struct {
	Off       bool   `json:"off"`       // collect nothing
	Anonymous bool   `json:"anonymous"` // the front's /metrics needs no caller; default: one with the role reader
	Listen    string `json:"listen"`    // host:port of an address for metrics only; default: none
	TLS       struct {
		Certificate string `json:"certificate"` // path of a PEM file
		Key         string `json:"key"`         // path of a PEM file
	} `json:"tls"` // of listen
	InsecureHTTP bool   `json:"insecure_http"` // serve plain HTTP on listen, although it is no loopback address
	Token        string `json:"token"`         // bearer token for listen: env:NAME or file:PATH; default: none is needed
}

// Check returns all faults that can be found without other parts of the configuration.
func (m Metrics) Check() error {
	var errs []error
	if m.Listen != "" {
		errs = append(errs, m.server().Check())
	} else if m.TLS.Certificate+m.TLS.Key+m.Token != "" || m.InsecureHTTP {
		errs = append(errs, errors.New("tls, insecure_http and token need listen"))
	}
	if m.Token != "" && !secretref.IsReference(m.Token) {
		errs = append(errs, errors.New("invalid token: want env:NAME or file:PATH"))
	}
	if m.Off && (m.Listen != "" || m.Anonymous) {
		errs = append(errs, errors.New("off and other settings contradict each other"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// server returns the configuration of the server, without the token.
func (m Metrics) server() scrape.Config {
	return scrape.Config{Listen: m.Listen, Certificate: m.TLS.Certificate, Key: m.TLS.Key, InsecureHTTP: m.InsecureHTTP}
}

// Server returns the configuration of the server for Listen. It reads the token.
func (m Metrics) Server() (scrape.Config, error) {
	cfg := m.server()
	if m.Token == "" {
		return cfg, nil
	}
	text, err := secretref.Read(m.Token)
	if err != nil {
		return cfg, fmt.Errorf("metrics.token: %w", err)
	}
	if cfg.Token = strings.TrimSpace(text); cfg.Token == "" {
		return cfg, fmt.Errorf("metrics.token: %s is empty", m.Token)
	}
	return cfg, nil
}

// MetricsName returns the name of one of the control databases in metrics: that of its entry, with
// its server if several have the same name.
func MetricsName(list []ControlDatabase, d ControlDatabase) string {
	same := 0
	for _, other := range list {
		if strings.EqualFold(other.Name, d.Name) {
			same++
		}
	}
	if same > 1 {
		return d.Server + "~" + d.Name
	}
	return d.Name
}
