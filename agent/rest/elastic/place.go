package elastic

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/wording"
)

// The types of resources, as they are in answers.
const (
	typeCredential = "Microsoft.Sql/servers/jobAgents/credentials"
	typeGroup      = "Microsoft.Sql/servers/jobAgents/targetGroups"
	typeJob        = "Microsoft.Sql/servers/jobAgents/jobs"
	typeVersion    = "Microsoft.Sql/servers/jobAgents/jobs/versions"
	typeStep       = "Microsoft.Sql/servers/jobAgents/jobs/steps"
	typeExecution  = "Microsoft.Sql/servers/jobAgents/jobs/executions"
	typeStepRun    = "Microsoft.Sql/servers/jobAgents/jobs/executions/steps"
	typeTargetRun  = "Microsoft.Sql/servers/jobAgents/jobs/executions/steps/targets"
	typeEndpoint   = "Microsoft.Sql/servers/jobAgents/privateEndpoints"
)

// maxName is the longest name in UTF-16 units.
const maxName = model.MaxName

// place is the control database of a request below a job agent, and its place in ids.
type place struct {
	*Surface
	entry *rest.Entry
	store *controldb.Store
	agent string // as stored
}

// place returns the place of a request. The error is a 404 if there is no such agent.
func (s *Surface) place(ctx context.Context, r *rest.Request) (*place, error) {
	entry, agent, err := s.agents.Agent(ctx, r)
	if err != nil {
		return nil, err
	}
	// A longer name would be cut off by the procedure's parameter, and be another one.
	for parameter, kind := range namedTypes {
		if name := r.Path[parameter]; wording.Length(name, wording.UTF16) > maxName && r.HTTP.Method != http.MethodPut {
			return nil, notFound(kind, wording.Clip(name, maxName, wording.Characters))
		}
	}
	return &place{Surface: s, entry: entry, store: entry.Store, agent: agent.Name}, nil
}

// id returns the id of a resource below the agent: pairs of a collection and a name.
func (at *place) id(pairs ...string) string {
	e := at.entry
	var b strings.Builder
	b.WriteString("/subscriptions/" + e.Subscription + "/resourceGroups/" + e.ResourceGroup + "/providers/Microsoft.Sql/servers/" +
		e.Server + "/jobAgents/" + at.agent)
	for i, part := range pairs {
		b.WriteByte('/')
		if i%2 == 1 {
			part = escapeName(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

// escapeName makes a name a segment of an id. Only what would be misread is escaped, so that ids
// are what clients build from names.
func escapeName(name string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F", "\\", "%5C", "?", "%3F", "#", "%23").Replace(name)
}

// url returns the URL of a resource, escaped.
func (at *place) url(r *rest.Request, id string, query url.Values) string {
	parts := strings.Split(id, "/")
	for i, part := range parts {
		if name, err := url.PathUnescape(part); err == nil {
			part = name
		}
		parts[i] = url.PathEscape(part)
	}
	return r.PublicURL + strings.Join(parts, "/") + "?" + query.Encode()
}

// self returns the URL of a resource with the api-version of the request.
func (at *place) self(r *rest.Request, id string) string {
	return at.url(r, id, url.Values{"api-version": {versionOf(r)}})
}

// namedTypes are the parameters of paths that are names, with the types of their resources.
var namedTypes = map[string]string{
	"job": typeJob, "step": typeStep, "group": typeGroup, "credential": typeCredential, "endpoint": typeEndpoint,
}

// checkName checks a name in the path of a request that creates a resource. The control database
// has further rules.
func checkName(kind, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return badRequest(codeInvalidBody, "name", "The name of a resource of type '%s' is empty.", kind)
	case wording.Length(name, wording.UTF16) > maxName:
		return badRequest(codeInvalidBody, "name", "The name of a resource of type '%s' has %d characters: want at most %d.", kind, wording.Length(name, wording.UTF16), maxName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return badRequest(codeInvalidBody, "name", "The name of a resource of type '%s' is not valid Unicode text.", kind)
	}
	return nil
}

// idOf returns the name of the resource that an id in a body names. Everything before it must be
// the agent of the URL. An empty text means none.
func (at *place) idOf(collection, id, path string) (string, error) {
	if id == "" {
		return "", nil
	}
	parts := strings.Split(strings.TrimSuffix(id, "/"), "/")
	want := []string{"", "subscriptions", "", "resourceGroups", "", "providers", "Microsoft.Sql", "servers", "", "jobAgents", "", collection, ""}
	if len(parts) != len(want) {
		return "", invalidID(collection, id, path)
	}
	for i, text := range want {
		old := text == "jobAgents" && strings.EqualFold(parts[i], "jobAccounts")
		if (i == 0 || text != "") && !strings.EqualFold(parts[i], text) && !old {
			return "", invalidID(collection, id, path)
		}
	}
	for _, one := range []struct {
		position   int
		mine, code string
	}{
		{2, at.entry.Subscription, "MismatchingSubscriptionWithUrl"},
		{4, at.entry.ResourceGroup, "MismatchingResourceGroupNameWithUrl"},
		{8, at.entry.Server, "MismatchingServerNameWithUrl"},
		{10, at.agent, "MismatchingJobAccountNameWithUrl"},
	} {
		if !strings.EqualFold(parts[one.position], one.mine) {
			return "", badRequest(rest.Code(one.code), path, "The id '%s' does not belong to the job agent of the URL: it has '%s' where the URL has '%s'.",
				id, parts[one.position], one.mine)
		}
	}
	name := parts[len(parts)-1]
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	if name == "" || wording.Length(name, wording.UTF16) > maxName {
		return "", invalidID(collection, id, path)
	}
	return name, nil
}

// invalidID returns the error about an id that is not of a resource of the collection.
func invalidID(collection, id, path string) error {
	id = wording.Clip(id, maxResourceID, wording.Bytes)
	return badRequest(codeInvalidID, path, "The id '%s' is invalid: want /subscriptions/…/resourceGroups/…/providers/Microsoft.Sql/servers/…/jobAgents/…/%s/….",
		id, collection)
}

// envelope are the properties of a body that the URL determines.
type envelope struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
}

// check refuses an envelope that contradicts the URL.
func (e envelope) check(f *faults, id, name, kind string) {
	if e.ID != "" && !strings.EqualFold(e.ID, id) {
		f.add("$.id", "The id contradicts the URL: want '%s', or no id.", id)
	}
	if e.Name != "" && !strings.EqualFold(e.Name, name) {
		f.add("$.name", "The name contradicts the URL: want '%s', or no name.", name)
	}
	old := strings.Replace(kind, "/jobAgents", "/jobAccounts", 1)
	if e.Type != "" && !strings.EqualFold(e.Type, kind) && !strings.EqualFold(e.Type, old) {
		f.add("$.type", "The type contradicts the URL: want '%s', or no type.", kind)
	}
}

// decode reads the body of a request.
func decode(r *rest.Request, dst any) error { return body.Decode(r.Body, dst, body.Options{}) }

// serverOf returns the name of a server as the control database has it: with the suffix of the
// entry if the name has neither a dot nor a port, a protocol or an instance.
func (at *place) serverOf(name string) string {
	if name == "" || at.entry.DNSSuffix == "" || strings.ContainsAny(name, `.,:\`) {
		return name
	}
	return name + at.entry.DNSSuffix
}

// shortServer removes the suffix of the entry if it is the only difference to a short name.
func (at *place) shortServer(name string) string {
	suffix := at.entry.DNSSuffix
	if suffix == "" || len(name) <= len(suffix) {
		return name
	}
	short := name[:len(name)-len(suffix)]
	if !strings.EqualFold(name[len(short):], suffix) || strings.ContainsAny(short, `.,:\`) {
		return name
	}
	return short
}
