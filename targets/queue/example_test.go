package queue_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/queue"
)

// A message for a Storage queue, whose service is an emulator on this machine.
func ExampleRunner_Run() {
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var document struct{ MessageText string }
		if err := xml.NewDecoder(r.Body).Decode(&document); err != nil {
			panic(err)
		}
		fmt.Printf("%s %s\n%s\n", r.Method, r.URL.Path, document.MessageText)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "<QueueMessagesList><QueueMessage><MessageId>42</MessageId></QueueMessage></QueueMessagesList>")
	}))
	defer emulator.Close()

	network, err := outbound.New(outbound.Config{Allow: outbound.LoopbackAllowed()})
	if err != nil {
		panic(err)
	}
	runner := queue.NewRunner(queue.Config{Network: network})
	result := runner.Run(context.Background(), targets.ActionAttempt{
		Action: &action.Definition{Type: action.TypeStorageQueue, StorageQueue: &action.StorageQueue{
			Account: emulator.URL + "/devstoreaccount1", Queue: "jobs", Message: `{"tenant": 7}`, KeyProperty: "key",
			SASToken: "sv=2019-02-02&sp=a&sig=c2lnbmF0dXJl", AllowHTTP: true,
		}},
		Key: uuid.MustParse("6f1c5c0e-8c0a-4a7e-9d60-6f0f0c7b1a11"), Number: 1, JobExecutionID: uuid.New(),
		Begin: func(context.Context) (time.Time, error) { return time.Now().Add(30 * time.Second), nil },
	})
	fmt.Println(result.Outcome, result.Sent, result.Summary)
	// Output:
	// POST /devstoreaccount1/jobs/messages
	// {"key":"6f1c5c0e-8c0a-4a7e-9d60-6f0f0c7b1a11","tenant": 7}
	// Succeeded true The message is on the queue.
}
