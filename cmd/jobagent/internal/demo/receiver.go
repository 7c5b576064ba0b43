package demo

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
)

// receiver is a web server on loopback. Step 3 posts to it.
type receiver struct {
	server *http.Server
	url    string
	served chan error

	mu     sync.Mutex
	bodies []string // of the requests
}

func startReceiver() (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + listener.Addr().String() + "/runs", served: make(chan error, 1)}
	r.server = &http.Server{Handler: http.HandlerFunc(r.receive), ReadHeaderTimeout: 10 * time.Second}
	go func() { r.served <- r.server.Serve(listener) }() // ends with close
	return r, nil
}

// receive keeps the body of a request.
func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	const maxBody = 64 << 10
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is incomplete or too long", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.bodies = append(r.bodies, string(body))
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// last returns the body of the last request; empty if there was none.
func (r *receiver) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bodies) == 0 {
		return ""
	}
	return r.bodies[len(r.bodies)-1]
}

// close stops the receiver.
func (r *receiver) close() error {
	err := r.server.Close()
	if served := <-r.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// summaryAction returns the definition of step 3, which posts the summary of the run to the
// receiver.
func (r *receiver) summaryAction() string {
	definition := action.Definition{Type: action.TypeHTTP, HTTP: &action.HTTP{
		Method: http.MethodPost, URL: r.url, AllowHTTP: true, BodyJSON: true,
		Body: []byte(`{
  "job": "$(job_name)",
  "run": "$(run_id)",
  "failure": {
    "outcome": "$(error.outcome)",
    "target": "$(error.target)",
    "attempts": "$(json:error.attempts)",
    "message": "$(error.message)"
  }
}`),
	}}
	return definition.Encode()
}
