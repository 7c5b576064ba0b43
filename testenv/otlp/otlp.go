// Package otlp has a receiver of OpenTelemetry traces (OTLP over HTTP) for tests.
package otlp

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that was received.
type Span struct {
	Trace, ID, Parent string // hexadecimal digits; Parent is empty for a root
	Name              string
	Kind              string // as in the protocol: SPAN_KIND_CLIENT
	Start, End        time.Time
	Attributes        map[string]string
	Links             []string // trace:span
	Failed            bool
	Status            string
	Resource          map[string]string
}

// Receiver receives spans.
type Receiver struct {
	// URL is the endpoint of the exporter.
	URL string
	// Answer, if set, is called before each answer; a status other than 0 is the answer.
	Answer func(r *http.Request) (status int)

	mu       sync.Mutex
	spans    []Span
	requests int
	header   http.Header
}

// NewReceiver starts a receiver, until the test ends.
func NewReceiver(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// ServeHTTP receives an export.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.requests++
	r.header = request.Header.Clone()
	r.mu.Unlock()
	if r.Answer != nil {
		if status := r.Answer(request); status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	if err := r.take(request); err != nil || request.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *Receiver) take(request *http.Request) error {
	var body io.Reader = request.Body
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var export collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(text, &export); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range export.GetResourceSpans() {
		resource := attributes(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Name: s.GetName(), Kind: s.GetKind().String(), Attributes: attributes(s.GetAttributes()), Resource: resource,
					Start: time.Unix(0, int64(s.GetStartTimeUnixNano())), End: time.Unix(0, int64(s.GetEndTimeUnixNano())),
					Failed: s.GetStatus().GetCode() == 2, Status: s.GetStatus().GetMessage(),
				}
				for _, link := range s.GetLinks() {
					span.Links = append(span.Links, hex.EncodeToString(link.GetTraceId())+":"+hex.EncodeToString(link.GetSpanId()))
				}
				r.spans = append(r.spans, span)
			}
		}
	}
	return nil
}

func attributes(list []*common.KeyValue) map[string]string {
	m := make(map[string]string, len(list))
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			m[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		case *common.AnyValue_BoolValue:
			m[a.GetKey()] = strconv.FormatBool(v.BoolValue)
		}
	}
	return m
}

// Spans returns the spans that were received, by their IDs: a span that was sent twice is one.
func (r *Receiver) Spans() map[string]Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := make(map[string]Span, len(r.spans))
	for _, s := range r.spans {
		m[s.ID] = s
	}
	return m
}

// Received returns how many spans were received, repeated ones included, and how many requests.
func (r *Receiver) Received() (spans, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.spans), r.requests
}

// Header returns the headers of the last request.
func (r *Receiver) Header() http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.header
}
