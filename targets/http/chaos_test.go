package http_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
)

// A server that breaks its connections at random, and attempts that are stopped at random: a
// request is carried out at most once, and what the attempt says of it is true.
func TestChaos(t *testing.T) {
	t.Parallel()
	for _, secured := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secured), func(t *testing.T) {
			t.Parallel()
			chaos(t, secured)
		})
	}
}

// chaos makes attempts on a server over TCP, with or without TLS.
func chaos(t *testing.T, secured bool) {
	const attempts, workers = 600, 8
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	executed := map[string]int{}
	serve := func(c net.Conn) {
		raw := c
		if over, ok := c.(*tls.Conn); ok {
			raw = over.NetConn()
		}
		end := func() {
			if draw(2) == 0 {
				_ = raw.(*net.TCPConn).SetLinger(0) // close with RST
			}
		}
		switch what := draw(10); what {
		case 0:
			end()
		case 1:
			_, _ = io.ReadFull(c, make([]byte, draw(200)))
			end()
		case 2:
			_, _ = io.WriteString(c, status(200, "")) // before the request
		default:
			r, _, err := readRequest(c)
			if err != nil {
				return
			}
			mu.Lock()
			executed[r.Header.Get("Idempotency-Key")]++
			mu.Unlock()
			answer := status(200, "done")
			if what == 3 {
				answer = status(500, "no")
			}
			if what == 4 {
				answer = answer[:draw(len(answer))]
			}
			if what == 5 {
				wait(c, time.Duration(draw(20))*time.Millisecond)
			}
			_, _ = io.WriteString(c, answer)
			end()
		}
	}
	var cfg outbound.Config
	if secured {
		pair, ca := certificate(t)
		cfg.CA, serve = ca, overTLS(pair, serve)
	}
	s := tcpSite(t, cfg, serve)
	if secured {
		s.origin = strings.Replace(s.origin, "http:", "https:", 1)
	}
	runner := http.NewRunner(s.network, http.Config{})
	counts := map[targets.Outcome]int{}
	numbers := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range numbers {
				a := attemptOf(post(s.origin))
				a.Key = uuid.New()
				begun := 0
				a.Begin = func(context.Context) (time.Time, error) {
					begun++
					if draw(20) == 0 {
						return time.Time{}, errBegin
					}
					return time.Now().Add(time.Minute), nil
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				if draw(5) == 0 {
					time.AfterFunc(time.Duration(draw(3000))*time.Microsecond, func() { cancel(errors.New("the agent stops")) })
				}
				result := runner.Run(ctx, a)
				cancel(nil)
				mu.Lock()
				n := executed[fmt.Sprintf("%q", a.Key.String())]
				counts[result.Outcome]++
				mu.Unlock()
				var problem string
				switch {
				case n > 1, begun > 1:
					problem = "more than one request"
				case n > 0 && begun == 0:
					problem = "carried out without permission"
				case !result.Sent && n > 0:
					problem = "not sent, and carried out"
				case result.Outcome == targets.Succeeded && n == 0 && result.Sent:
					// The server answered when it had read nothing, after the first byte had left.
					continue
				case result.Outcome == targets.Succeeded && !result.Sent, result.Outcome == targets.Unknown && !result.Sent,
					result.Outcome == targets.NotSent && result.Sent:
					problem = "the outcome contradicts what was sent"
				}
				if problem != "" {
					t.Errorf("%s: %s, %d requests, sent %t: %s", problem, result.Outcome, n, result.Sent, result.Summary)
				}
			}
		})
	}
	for i := range attempts {
		numbers <- i
	}
	close(numbers)
	group.Wait()
	t.Logf("outcomes: %v", counts)
	for _, outcome := range []targets.Outcome{targets.Succeeded, targets.Failed, targets.Unknown, targets.NotSent} {
		require.NotZero(t, counts[outcome], outcome)
	}
}
