package http_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"time"

	nethttp "net/http"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
)

func ExampleRunner_Run() {
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("the endpoint received %s %s %s\n", r.Method, r.URL.Path, body)
		w.WriteHeader(nethttp.StatusCreated)
		_, _ = io.WriteString(w, "invoice 42")
	}))
	defer server.Close()

	network, err := outbound.New(outbound.Config{Allow: outbound.LoopbackAllowed()})
	if err != nil {
		panic(err)
	}
	result := http.NewRunner(network, http.Config{Version: "1.0"}).Run(context.Background(), targets.ActionAttempt{
		Action: &action.Definition{Type: action.TypeHTTP, HTTP: &action.HTTP{
			Method: "POST", URL: server.URL + "/invoices", Body: []byte(`{"tenant": 7}`), BodyJSON: true, AllowHTTP: true,
		}},
		Key: uuid.New(), Number: 1, JobExecutionID: uuid.New(),
		Begin: func(context.Context) (time.Time, error) { return time.Now().Add(30 * time.Second), nil },
	})
	fmt.Println(result.Outcome, result.Sent)
	for _, m := range result.Messages {
		if m.Kind == targets.KindBody {
			fmt.Println(m.Text)
		}
	}
	// Output:
	// the endpoint received POST /invoices {"tenant": 7}
	// Succeeded true
	// invoice 42
}
