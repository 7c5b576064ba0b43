package elastic

import (
	"context"
	"net/http"
	"reflect"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/access"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/wording"
)

// endpointInput is the body of PUT private endpoint.
type endpointInput struct {
	envelope
	Properties struct {
		TargetServerAzureResourceID string `json:"targetServerAzureResourceId" body:"required"`
	} `json:"properties" body:"required"`
}

// endpointView is a private endpoint in an answer.
type endpointView struct {
	envelope
	Properties struct {
		TargetServerAzureResourceID string `json:"targetServerAzureResourceId"`
		PrivateEndpointID           string `json:"privateEndpointId"`
	} `json:"properties"`
}

const (
	endpointPath = agentPath + "/privateEndpoints"
	// maxResourceID is the longest resource id in characters.
	maxResourceID = 1000
)

// endpointOperations are A37 to A40. Private endpoints are stored and shown, and have no effect
//
func (s *Surface) endpointOperations() []rest.Operation {
	one := reflect.TypeFor[endpointView]()
	return []rest.Operation{
		s.get("JobPrivateEndpoints_ListByAgent", endpointPath, (*place).listEndpoints,
			"Lists the private endpoints of a job agent.", reflect.TypeFor[list[endpointView]](), pageParameters...),
		rest.Versioned(s.get("JobPrivateEndpoints_Get", endpointPath+"/{endpoint}", (*place).getEndpoint, "Gets a private endpoint.", one)),
		rest.Versioned(s.change(http.MethodPut, "JobPrivateEndpoints_CreateOrUpdate", endpointPath+"/{endpoint}", rest.RoleAdmin, (*place).putEndpoint,
			"Creates or replaces a private endpoint, which has no effect.", reflect.TypeFor[endpointInput](), one, http.StatusCreated)),
		rest.Versioned(s.delete("JobPrivateEndpoints_Delete", endpointPath+"/{endpoint}", rest.RoleAdmin, (*place).deleteEndpoint, "Deletes a private endpoint.")),
	}
}

// endpointView describes a private endpoint.
func (at *place) endpointView(e access.PrivateEndpoint) endpointView {
	v := endpointView{envelope: envelope{ID: at.id("privateEndpoints", e.Name), Name: e.Name, Type: typeEndpoint}}
	v.Properties.TargetServerAzureResourceID, v.Properties.PrivateEndpointID = e.Target, e.EndpointID
	return v
}

func (at *place) listEndpoints(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerNames(ctx, at, r, "privateEndpoints", access.On(at.store).PrivateEndpoints, nil, func(o access.PrivateEndpoint) string { return o.Name }, at.endpointView)
}

func (at *place) getEndpoint(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["endpoint"]
	endpoint, err := access.On(at.store).PrivateEndpoint(ctx, name)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrEndpointNotFound, typeEndpoint, name)
	}
	return at.answerEndpoint(http.StatusOK, endpoint), nil
}

func (at *place) answerEndpoint(status int, endpoint access.PrivateEndpoint) *rest.Response {
	v := at.endpointView(endpoint)
	return tagged(status, v.ID, endpoint.Revision, v)
}

func (at *place) putEndpoint(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["endpoint"]
	if err := checkName(typeEndpoint, name); err != nil {
		return nil, err
	}
	var in endpointInput
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	var f faults
	in.check(&f, at.id("privateEndpoints", name), name, typeEndpoint)
	target := in.Properties.TargetServerAzureResourceID
	if target == "" || wording.Length(target, wording.UTF16) > maxResourceID {
		f.add("$.properties.targetServerAzureResourceId", "The id of the target's server is invalid: want 1 to %d characters.", maxResourceID)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	match, err := at.expectEndpoint(ctx, r, name)
	if err != nil {
		return nil, err
	}
	put, err := access.On(at.store).SetPrivateEndpoint(ctx, name, target, match)
	if err != nil {
		return nil, err
	}
	return at.answerEndpoint(statusOf(put.Created), put.Object), nil
}

// expectEndpoint returns the revision of a private endpoint that the headers of a request want.
func (at *place) expectEndpoint(ctx context.Context, r *rest.Request, name string) (*int64, error) {
	return expect(r, dberror.ErrEndpointNotFound, func() (string, int64, error) {
		endpoint, err := access.On(at.store).PrivateEndpoint(ctx, name)
		return at.id("privateEndpoints", endpoint.Name), endpoint.Revision, err
	})
}

func (at *place) deleteEndpoint(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	match, err := at.expectEndpoint(ctx, r, r.Path["endpoint"])
	if err != nil {
		return nil, err
	}
	return deleted(access.On(at.store).DeletePrivateEndpoint(ctx, r.Path["endpoint"], match), dberror.ErrEndpointNotFound)
}
