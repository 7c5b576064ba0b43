package listen

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// filesAge is how long the content of the files is used before the files are looked at again.
const filesAge = 10 * time.Second

// files is the configuration of TLS from files that may be renewed. It is safe for concurrent use.
type files struct {
	certificate, key, clientCA string
	protocols                  []string

	mu      sync.Mutex
	loaded  *tls.Config
	changed [3]time.Time // modification times of the files
	looked  time.Time    // when the files were last looked at
}

// config implements tls.Config.GetConfigForClient. Renewed files that cannot be read are used at
// the next look.
func (f *files) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded != nil && time.Since(f.looked) < filesAge {
		return f.loaded, nil
	}
	f.looked = time.Now()
	changed, err := f.times()
	if err == nil && f.loaded != nil && changed == f.changed {
		return f.loaded, nil
	}
	var renewed *tls.Config
	if err == nil {
		renewed, err = f.read()
	}
	switch {
	case err == nil:
		f.loaded, f.changed = renewed, changed
	case f.loaded == nil:
		return nil, fmt.Errorf("read the certificate of the listener: %w", err)
	}
	return f.loaded, nil
}

// times returns the modification times of the files.
func (f *files) times() (times [3]time.Time, err error) {
	for i, name := range []string{f.certificate, f.key, f.clientCA} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return times, err
		}
		times[i] = info.ModTime()
	}
	return times, nil
}

func (f *files) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: f.protocols, Certificates: []tls.Certificate{pair}}
	if f.clientCA == "" {
		return cfg, nil
	}
	text, err := os.ReadFile(f.clientCA)
	if err != nil {
		return nil, err
	}
	cfg.ClientAuth, cfg.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
	if !cfg.ClientCAs.AppendCertsFromPEM(text) {
		return nil, errors.New("client_ca holds no certificate")
	}
	return cfg, nil
}
