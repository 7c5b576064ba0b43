package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/model"
)

// restLoad are the parameters of `jobagent bench rest`.
type restLoad struct {
	gets, puts, connections, jobs int
	duration                      time.Duration
}

// newRESTCommand returns `jobagent bench rest`.
func newRESTCommand(b *bench) *cobra.Command {
	l := restLoad{}
	cmd := &cobra.Command{
		Use: "rest", Short: "Rate and delay of the REST server",
		Long: `Read jobs by GET and change them by PUT at fixed rates over HTTPS, first through the front, and then
through a bare net/http handler that makes the same calls of the control database. The clients are in
this process too. Each PUT changes its job.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case l.gets < 0 || l.puts < 0 || l.gets+l.puts < 1 || l.gets+l.puts > 100_000:
				return b.Usagef("--gets %d, --puts %d: must be 1 to 100000 together", l.gets, l.puts)
			case l.connections < 1 || l.connections > 1000:
				return b.Usagef("--connections %d: must be 1 to 1000", l.connections)
			case l.jobs < 1 || l.jobs > 10_000:
				return b.Usagef("--jobs %d: must be 1 to 10000", l.jobs)
			case l.duration < time.Second || l.duration > time.Hour:
				return b.Usagef("--duration %s: must be 1s to 1h", l.duration)
			}
			return b.rest(cmd.Context(), l)
		},
	}
	cmd.Flags().IntVar(&l.gets, "gets", 2000, "GETs a second")
	cmd.Flags().IntVar(&l.puts, "puts", 500, "PUTs a second")
	cmd.Flags().IntVar(&l.connections, "connections", 64, "connections of the clients")
	cmd.Flags().IntVar(&l.jobs, "jobs", 200, "jobs that are read and changed")
	cmd.Flags().DurationVar(&l.duration, "duration", time.Minute, "time of each measurement")
	return cmd
}

// rest implements `jobagent bench rest`.
func (b *bench) rest(ctx context.Context, l restLoad) (err error) {
	s, err := b.startBench(ctx, "rest", benchConns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for i := range l.jobs {
		if _, err := catalog.On(s.store).AddJob(ctx, model.JobSpec{Name: benchJob(i)}); err != nil {
			return err
		}
	}
	pair, err := selfSigned()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name  string
		start func() (address, token string, stop func() error, err error)
	}{
		{"front", func() (string, string, func() error, error) { return b.startFront(ctx, s, pair) }},
		{"bare", func() (string, string, func() error, error) { return s.startBare(ctx, pair) }},
	} {
		address, token, stop, err := one.start()
		if err != nil {
			return err
		}
		c := newRESTClient(address, token, pair, l)
		err = s.measureREST(ctx, one.name, c, l)
		c.close()
		if err := errors.Join(err, stop()); err != nil {
			return err
		}
	}
	return b.Print(s.report)
}

// benchConns bounds the connections to the control database, for the front and the bare handler.
const benchConns = 32

// benchJob returns the name of a job.
func benchJob(i int) string { return fmt.Sprintf("bench-rest-%05d", i) }

// startFront serves the front on the control database.
func (b *bench) startFront(ctx context.Context, s *installation, pair tls.Certificate) (address, token string, stop func() error, err error) {
	stored, token := tokenfile.New()
	stored.Role, stored.Scope = "admin", "/"
	certificate, key, remove, err := writeCertificate(pair)
	if err != nil {
		return "", "", nil, err
	}
	defer func() { err = errors.Join(err, remove()) }() // the front has read them
	dsn := s.DSN
	dsn.Params.Database = s.database
	address, stop, err = b.StartFront(ctx, Front{
		Subscription: benchSubscription, ResourceGroup: "rg", Server: "server", Agent: "default", Token: stored,
		CertificateFile: certificate, KeyFile: key,
		Open: func() (*controldb.Store, error) {
			return controldb.New(controldb.Config{Connector: dsn.Connector(nil), ServerName: s.serverName, MaxConns: benchConns})
		},
	})
	return address, token, stop, err
}

// writeCertificate writes a certificate and its key to files.
func writeCertificate(pair tls.Certificate) (certificate, key string, remove func() error, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return "", "", nil, err
	}
	dir, err := os.MkdirTemp("", "jobagent-bench-")
	if err != nil {
		return "", "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	certificate, key = filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")
	err = errors.Join(
		os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	if err != nil {
		return "", "", nil, errors.Join(err, remove())
	}
	return certificate, key, remove, nil
}

// benchSubscription is the subscription in the paths of the front.
const benchSubscription = "00000000-0000-0000-0000-000000000000"

// benchPath is the path of all jobs.
const benchPath = "/subscriptions/" + benchSubscription + "/resourceGroups/rg/providers/Microsoft.Sql/servers/server/jobAgents/default/jobs/"

// startBare serves a handler that makes the same calls, and does nothing else.
func (s *installation) startBare(ctx context.Context, pair tls.Certificate) (address, token string, stop func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(s.bare), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	secured := tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}})
	go func() { ended <- server.Serve(secured) }() // ends with Shutdown
	return "https://" + l.Addr().String(), "", func() error {
		err := server.Shutdown(context.WithoutCancel(ctx))
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// bare is the handler of startBare.
func (s *installation) bare(w http.ResponseWriter, r *http.Request) {
	ctx := caller.With(r.Context(), caller.Caller{Role: rest.RoleAdmin.DatabaseRole(), Name: "bench", Door: "REST", CorrelationID: uuid.New()})
	name := strings.TrimPrefix(r.URL.Path, benchPath)
	if r.Method == http.MethodPut {
		var body struct {
			Properties struct{ Description string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if _, err := catalog.On(s.store).SetJob(ctx, model.JobSpec{Name: name, Description: &body.Properties.Description}, nil); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	job, err := catalog.On(s.store).JobDetail(ctx, name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(job) // the client may be gone
}

// restClient sends the requests of a measurement.
type restClient struct {
	http           *http.Client
	address, token string
	load           restLoad
	changes        atomic.Int64
}

func newRESTClient(address, token string, pair tls.Certificate, l restLoad) *restClient {
	pool := x509.NewCertPool()
	if leaf, err := x509.ParseCertificate(pair.Certificate[0]); err == nil {
		pool.AddCert(leaf)
	}
	return &restClient{
		http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{
			MaxConnsPerHost: l.connections, MaxIdleConnsPerHost: l.connections, TLSClientConfig: &tls.Config{RootCAs: pool},
		}},
		address: address, token: token, load: l,
	}
}

func (c *restClient) close() { c.http.CloseIdleConnections() }

// send sends a request for a random job.
func (c *restClient) send(ctx context.Context, put bool) error {
	method, body := http.MethodGet, io.Reader(nil)
	if put {
		method = http.MethodPut
		body = bytes.NewReader(fmt.Appendf(nil, `{"properties":{"description":"change %d"}}`, c.changes.Add(1)))
	}
	r, err := http.NewRequestWithContext(ctx, method, c.address+benchPath+benchJob(rand.IntN(c.load.jobs))+"?api-version=2020-11-01-preview", body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", response.StatusCode, text)
	}
	return err
}

// restResult is what a measurement has found.
type restResult struct {
	mu     sync.Mutex
	times  [2][]time.Duration // of GETs and PUTs
	failed int
	first  error
}

// measureREST sends requests at the rates of a load, and reports what happened. A request that is
// due while all connections are busy is sent later, so the reached rate is reported too.
func (s *installation) measureREST(ctx context.Context, name string, c *restClient, l restLoad) error {
	warm, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for i := range 20 {
		if err := c.send(warm, i%2 == 0); err != nil {
			return fmt.Errorf("bench %s: %w", name, err)
		}
	}
	before, usedBefore := heap(), cpuSeconds()
	var result restResult
	var next atomic.Int64
	rate, all := float64(l.gets+l.puts), int64(float64(l.gets+l.puts)*l.duration.Seconds())
	began := time.Now()
	var wg sync.WaitGroup
	for range l.connections {
		wg.Go(func() { // ends when all requests were sent
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				due := began.Add(time.Duration(float64(n) / rate * float64(time.Second)))
				if n >= all || time.Since(began) > l.duration {
					return
				}
				if wait(ctx, time.Until(due), nil) != nil {
					return
				}
				// The PUTs are spread evenly between the GETs.
				put := (n+1)*int64(l.puts)/int64(rate) > n*int64(l.puts)/int64(rate)
				at := time.Now()
				result.add(put, c.send(ctx, put), at)
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(began).Seconds()
	if err := ctx.Err(); err != nil {
		return err
	}
	r := s.report
	for i, kind := range []string{"get", "put"} {
		bar := fmt.Sprintf(">= %d", []int{l.gets, l.puts}[i])
		r.add(name+"_"+kind+"_rate", float64(len(result.times[i]))/elapsed, "1/s", bar)
		r.spread(name+"_"+kind, result.times[i], "")
	}
	after := heap()
	if sent := len(result.times[0]) + len(result.times[1]); sent > 0 && usedBefore > 0 {
		r.add(name+"_cpu_per_request", (cpuSeconds()-usedBefore)*1000/float64(sent), "ms", "")
	}
	r.add(name+"_errors", float64(result.failed), "", "0")
	r.add(name+"_heap_before", before, "MB", "")
	r.add(name+"_heap_after", after, "MB", "")
	if result.first != nil {
		return fmt.Errorf("bench %s: %d requests failed, the first with: %w", name, result.failed, result.first)
	}
	return nil
}

// add adds a request that was sent at a time.
func (r *restResult) add(put bool, err error, at time.Time) {
	took := time.Since(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if r.failed++; r.first == nil {
			r.first = err
		}
		return
	}
	kind := 0
	if put {
		kind = 1
	}
	r.times[kind] = append(r.times[kind], took)
}

// heap returns the memory in use after a garbage collection, in MB. It includes an embedded server.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
