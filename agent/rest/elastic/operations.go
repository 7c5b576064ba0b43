package elastic

import (
	"context"
	"net/http"
	"reflect"

	"github.com/jobagent/jobagent/agent/rest"
)

// handler carries out an operation at the place that a path names.
type handler func(at *place, ctx context.Context, r *rest.Request) (*rest.Response, error)

// at returns the handler of an operation below a job agent.
func (s *Surface) at(h handler) func(context.Context, *rest.Request) (*rest.Response, error) {
	return func(ctx context.Context, r *rest.Request) (*rest.Response, error) {
		p, err := s.place(ctx, r)
		if err != nil {
			return nil, err
		}
		return h(p, ctx, r)
	}
}

// get is an operation that reads.
func (s *Surface) get(id, path string, h handler, summary string, answer reflect.Type, query ...rest.Parameter) rest.Operation {
	return rest.Operation{
		ID: id, Method: http.MethodGet, Path: path, Role: rest.RoleReader, Handle: s.at(h), Summary: summary, Query: query,
		Answers: map[int]reflect.Type{http.StatusOK: answer},
	}
}

// change is an operation that changes something, and answers with it. others are the statuses of
// the answer beside 200.
func (s *Surface) change(method, id, path string, role rest.Role, h handler, summary string, body, answer reflect.Type, others ...int) rest.Operation {
	o := rest.Operation{
		ID: id, Method: method, Path: path, Role: role, Handle: s.at(h), Summary: summary, Body: body, Answers: map[int]reflect.Type{http.StatusOK: answer},
	}
	for _, status := range others {
		o.Answers[status] = answer
	}
	return o
}

// delete is an operation that deletes something.
func (s *Surface) delete(id, path string, role rest.Role, h handler, summary string) rest.Operation {
	return s.change(http.MethodDelete, id, path, role, h, summary, nil, nil, http.StatusNoContent)
}

// withHeaders is an operation whose answers may have these headers.
func withHeaders(o rest.Operation, headers ...string) rest.Operation {
	o.Headers = headers
	return o
}
