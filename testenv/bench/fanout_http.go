package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	actionhttp "github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
)

// receiver is the server of all endpoints of `jobagent bench fanout --http`: HTTPS on loopback.
type receiver struct {
	server *http.Server
	host   string // with the port
	served chan error
	pin    [sha256.Size]byte // of the certificate
}

// startReceiver starts a receiver whose endpoints answer after the given time on average. Each
// endpoint has a time of its own, from a half to one and a half of that, so that the requests of
// many workers do not come and go in step.
func startReceiver(latency time.Duration) (*receiver, error) {
	certificate, err := selfSigned()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{host: listener.Addr().String(), served: make(chan error, 1), pin: sha256.Sum256(certificate.Certificate[0])}
	r.server = &http.Server{
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			_, err := io.Copy(io.Discard, request.Body)
			select {
			case <-request.Context().Done():
				return
			case <-time.After(latencyOf(request.URL.Path, latency)):
			}
			if err == nil {
				io.WriteString(w, "done\n") //nolint:errcheck // the client reports a broken answer
			}
		}),
	}
	go func() { r.served <- r.server.ServeTLS(listener, "", "") }()
	return r, nil
}

// latencyOf returns the time that an endpoint takes, the same for each of its requests.
func latencyOf(path string, average time.Duration) time.Duration {
	sum := sha256.Sum256([]byte(path))
	return average/2 + average*time.Duration(sum[0])/255
}

// selfSigned makes a certificate for 127.0.0.1.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// close stops the receiver.
func (r *receiver) close() error {
	err := r.server.Close()
	if served := <-r.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// definition returns the action of the job's step: one request for each database.
func (r *receiver) definition() string {
	definition := action.Definition{Type: action.TypeHTTP, HTTP: &action.HTTP{
		Method: http.MethodPost, URL: "https://" + r.host + "/tenants/$(database_name)",
		Body: []byte(`{"database":"$(database_name)"}`), BodyJSON: true, Success: action.Success{Preset: action.PresetWebhook},
	}}
	return definition.Encode()
}

// runner returns an agent's runner, which may dial loopback and accepts the receiver's certificate.
func (r *receiver) runner() (targets.ActionRunner, error) {
	network, err := outbound.New(outbound.Config{
		Allow:   outbound.LoopbackAllowed(),
		Servers: []outbound.Server{{Match: r.host, CertificateSHA256: []string{hex.EncodeToString(r.pin[:])}}},
	})
	if err != nil {
		return nil, err
	}
	return actionhttp.NewRunner(network, actionhttp.Config{Version: version}), nil
}

// client returns the client of the bare loop. Like an action, it makes a new connection for each
// request, and accepts only the receiver's certificate.
func (r *receiver) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, // VerifyConnection compares the certificate
			VerifyConnection: func(state tls.ConnectionState) error {
				if sha256.Sum256(state.PeerCertificates[0].Raw) != r.pin {
					return errors.New("another certificate")
				}
				return nil
			},
		},
	}}
}

// post sends one request of the bare loop and reads the whole answer.
func (r *receiver) post(ctx context.Context, client *http.Client, database string) error {
	address := "https://" + r.host + "/tenants/" + url.PathEscape(database)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"database":`+strconv.Quote(database)+`}`))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}
