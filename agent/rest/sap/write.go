package sap

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/sap"
)

// storedAnswer is the answer of a request as it is kept for repeats of the request (S-4).
type storedAnswer struct {
	Status   int             `json:"status"`
	Location string          `json:"location,omitempty"`
	Body     json.RawMessage `json:"body"`
}

// response returns the answer for the server.
func (a storedAnswer) response() *rest.Response {
	r := &rest.Response{Status: a.Status, Body: a.Body}
	if a.Location != "" {
		r.Header = http.Header{"Location": {a.Location}}
	}
	return r
}

// requestKey identifies a request by its principal, method, path, body and the header
// Idempotency-Key, by which a client tells equal requests apart. The parts are separated by their
// lengths.
func requestKey(r *rest.Request) sap.RequestKey {
	h := sha256.New()
	body := sha256.Sum256(r.Body)
	for _, part := range []string{
		r.Principal.Instance, r.Principal.Tenant, r.Principal.ID, r.HTTP.Method, r.HTTP.URL.EscapedPath(), r.HTTP.URL.RawQuery, string(body[:]),
		r.HTTP.Header.Get("Idempotency-Key"),
	} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	return sap.RequestKey(h.Sum(nil))
}

// write carries out a change, and answers it. A request that SAP's client repeats because it has
// not got the answer gets the answer of the first one (S-4): the control database recognises it in
// the transaction of the change, and change then changes nothing. answer makes the answer from what
// is at hand, so that it cannot fail after the change was committed.
func (c *call) write(
	ctx context.Context, change func(sap.Write) (sap.Result, error), answer func(sap.Result) (storedAnswer, error),
) (*rest.Response, error) {
	return c.carryOut(ctx, true, change, answer)
}

// writeOnce is write for requests that make or delete one object. A reverse proxy takes each
// answer, whether or not the client gets it, so that an equal request through a proxy is a
// repeat. It is not for other changes: A, B and A again in a minute must end as A.
func (c *call) writeOnce(
	ctx context.Context, change func(sap.Write) (sap.Result, error), answer func(sap.Result) (storedAnswer, error),
) (*rest.Response, error) {
	return c.carryOut(ctx, !proxied(c.HTTP), change, answer)
}

// proxied reports whether a request came through a proxy that says so (RFC 9110 7.6.3, RFC 7239).
func proxied(r *http.Request) bool {
	return slices.ContainsFunc([]string{"Via", "Forwarded", "X-Forwarded-For"}, func(name string) bool { return r.Header.Get(name) != "" })
}

// carryOut implements write. direct says that an answer that the connection took has reached the
// client.
func (c *call) carryOut(
	ctx context.Context, direct bool, change func(sap.Write) (sap.Result, error), answer func(sap.Result) (storedAnswer, error),
) (*rest.Response, error) {
	key := requestKey(c.Request)
	res, err := change(sap.Write{By: c.Principal.Name, Key: key})
	if err != nil {
		return nil, err
	}
	var a storedAnswer
	if res.Replayed && res.Answer != "" {
		if err := json.Unmarshal([]byte(res.Answer), &a); err != nil {
			return nil, fmt.Errorf("read a stored answer: %w", err)
		}
	} else if a, err = answer(res); err != nil {
		return nil, err
	}
	stored, err := encode(a)
	if err != nil {
		return nil, err
	}
	c.finish(ctx, key, string(stored), direct)
	response := a.response()
	response.Sent = func(err error) {
		if err != nil && direct {
			c.finish(context.WithoutCancel(ctx), key, string(stored), false)
		}
	}
	return response, nil
}

// finish stores the answer of a request. If that fails, a repeat within a minute gets the answer
// made anew; the change itself is complete.
func (c *call) finish(ctx context.Context, key sap.RequestKey, answer string, delivered bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := sap.On(c.service.Store).FinishRequest(ctx, c.scope, key, answer, delivered); err != nil {
		c.surface.log.Warn("the answer of a request could not be stored for repeats", zap.Error(err), zap.String("correlation", c.CorrelationID.String()))
	}
}

// success is the answer of changes without a result.
func success(sap.Result) (storedAnswer, error) {
	return storedAnswer{Status: http.StatusOK, Body: json.RawMessage(`{"success":true}`)}, nil
}

func jobPath(id int64) string { return root + "/jobs/" + strconv.FormatInt(id, 10) }
