package elastic

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/wording"
)

// The bodies of job agents.
type (
	// agentBody is the body of PUT.
	agentBody struct {
		ID         string            `json:"id"`
		Name       string            `json:"name"`
		Type       string            `json:"type"`
		Location   string            `json:"location" body:"required"`
		Tags       map[string]string `json:"tags"`
		SKU        *skuBody          `json:"sku"`
		Identity   *identityBody     `json:"identity"`
		Properties agentProperties   `json:"properties" body:"required"`
	}
	agentProperties struct {
		DatabaseID string `json:"databaseId"`
	}
	// agentPatch is the body of PATCH.
	agentPatch struct {
		Tags     body.Field[map[string]string] `json:"tags,omitzero"`
		SKU      *skuBody                      `json:"sku"`
		Identity *identityBody                 `json:"identity"`
	}
	skuBody struct {
		Name     string `json:"name"`
		Tier     string `json:"tier"`
		Size     string `json:"size"`
		Family   string `json:"family"`
		Capacity *int32 `json:"capacity"`
	}
	identityBody struct {
		Type                   string              `json:"type" enum:"None UserAssigned"`
		TenantID               string              `json:"tenantId" format:"uuid"`
		UserAssignedIdentities map[string]struct{} `json:"userAssignedIdentities"`
	}

	// agentView is a job agent in an answer.
	agentView struct {
		ID         string              `json:"id"`
		Name       string              `json:"name"`
		Type       string              `json:"type"`
		Location   string              `json:"location"`
		Tags       map[string]string   `json:"tags,omitempty"`
		SKU        skuView             `json:"sku"`
		Identity   *identityView       `json:"identity,omitempty"`
		Properties agentPropertiesView `json:"properties"`
	}
	skuView struct {
		Name     string `json:"name"`
		Capacity int    `json:"capacity"`
	}
	identityView struct {
		Type                   string                  `json:"type" enum:"None UserAssigned"`
		UserAssignedIdentities map[string]userIdentity `json:"userAssignedIdentities,omitempty"`
	}
	userIdentity struct {
		PrincipalID string `json:"principalId,omitempty"`
		ClientID    string `json:"clientId,omitempty"`
	}
	agentPropertiesView struct {
		DatabaseID string `json:"databaseId"`
		State      string `json:"state" enum:"Creating Ready Updating Disabled Faulted Deleting"`
	}
	agentList struct {
		Value []agentView `json:"value"`
	}
)

// agentFault returns an error about a request. Long texts among args are cut: a client may have
// sent any.
func agentFault(status int, code rest.Code, target, format string, args ...any) error {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = wording.Clip(text, maxResourceID, wording.Characters)
		}
	}
	return &rest.Error{Status: status, Code: code, Target: target, Message: fmt.Sprintf(format, args...)}
}

// badAgent is agentFault with status 400.
func badAgent(code rest.Code, target, format string, args ...any) error {
	return agentFault(http.StatusBadRequest, code, target, format, args...)
}

const codeAgentBody rest.Code = "InvalidResourceRequestBody"

// decodeAgent reads a body. All its faults have the code of this API.
func decodeAgent(r *rest.Request, dst any, opts body.Options) error {
	err := body.Decode(r.Body, dst, opts)
	var e *rest.Error
	if errors.As(err, &e) {
		e.Code = codeAgentBody
	}
	return err
}

// readPut reads the body of PUT, and returns the database and the change that it asks for. It
// checks everything that needs no database.
func (a *agents) readPut(r *rest.Request, entries []*rest.Entry) (*rest.Entry, account.Change, error) {
	var b agentBody
	change := account.Change{Name: r.Path["agent"]}
	if err := decodeAgent(r, &b, body.Options{FoldCase: true}); err != nil {
		return nil, change, err
	}
	if err := checkSame(r, b); err != nil {
		return nil, change, err
	}
	if err := checkAgentName(change.Name); err != nil {
		return nil, change, err
	}
	e, err := findDatabase(r, b.Properties.DatabaseID, entries)
	if err != nil {
		return nil, change, err
	}
	if normalized(b.Location) != normalized(e.Location) {
		return nil, change, badAgent(codeAgentBody, "$.location",
			"Invalid location '%s': the database '%s' is in '%s'.", b.Location, e.Name, e.Location)
	}
	change.Location = &e.Location
	if b.SKU == nil {
		b.SKU = &skuBody{Name: "JA100"} // PUT replaces: the default of Azure
	}
	if err := b.SKU.change(&change); err != nil {
		return nil, change, err
	}
	if b.Identity == nil {
		b.Identity = &identityBody{Type: "None"}
	}
	if err := a.identity(b.Identity, &change); err != nil {
		return nil, change, err
	}
	if err := checkTags(b.Tags); err != nil {
		return nil, change, err
	}
	change.Tags = &b.Tags
	return e, change, nil
}

// readPatch reads the body of PATCH.
func (a *agents) readPatch(r *rest.Request) (account.Change, error) {
	var b agentPatch
	var change account.Change
	if err := decodeAgent(r, &b, body.Options{FoldCase: true, AllowEmpty: true}); err != nil {
		return change, err
	}
	if b.SKU != nil {
		if err := b.SKU.change(&change); err != nil {
			return change, err
		}
	}
	if b.Identity != nil {
		if err := a.identity(b.Identity, &change); err != nil {
			return change, err
		}
	}
	if b.Tags.Set {
		if err := checkTags(b.Tags.Value); err != nil {
			return change, err
		}
		change.Tags = &b.Tags.Value
	}
	return change, nil
}

// checkSame refuses an id, a name or a type that contradicts the URL.
func checkSame(r *rest.Request, b agentBody) error {
	for _, one := range []struct{ target, got, want string }{
		{"$.id", b.ID, agentID(r.Path["subscription"], r.Path["resourceGroup"], r.Path["server"], r.Path["agent"])},
		{"$.name", b.Name, r.Path["agent"]}, {"$.type", b.Type, typeAgent},
	} {
		if one.got != "" && !strings.EqualFold(one.got, one.want) {
			return badAgent(codeAgentBody, one.target, "Invalid value '%s': the URL says '%s'.", one.got, one.want)
		}
	}
	return nil
}

// checkAgentName refuses a name that the control database would refuse.
func checkAgentName(name string) error {
	invalidRune := func(r rune) bool { return r < ' ' || strings.ContainsRune(`<>*%&:\/?`, r) }
	if strings.TrimSpace(name) == "" || wording.Length(name, wording.UTF16) > maxName || strings.ContainsFunc(name, invalidRune) ||
		strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return badAgent(codeAgentBody, "$.name", "Invalid name '%s' of a job agent: want 1 to 128 characters, none of <>*%%&:\\/?, and no . or space at the end.", name)
	}
	return nil
}

// normalized returns a location as locations are compared.
func normalized(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}

// databaseIDPattern matches the resource id of a database.
var databaseIDPattern = regexp.MustCompile(
	`(?i)^/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\.Sql/servers/([^/]+)/databases/([^/]+)$`)

// findDatabase returns the entry that databaseId names. All other parts of the id must be those of
// the URL.
func findDatabase(r *rest.Request, id string, entries []*rest.Entry) (*rest.Entry, error) {
	const target = "$.properties.databaseId"
	if id == "" {
		return nil, badAgent(codeAgentBody, target, "The property databaseId is missing.")
	}
	m := databaseIDPattern.FindStringSubmatch(id)
	if m == nil {
		return nil, badAgent("InvalidDatabaseResourceId", target, "Invalid resource id '%s' of a database.", id)
	}
	if _, err := uuid.Parse(m[1]); err != nil {
		return nil, badAgent("InvalidDatabaseResourceId", target, "Invalid subscription '%s' in the resource id of the database.", m[1])
	}
	for i, part := range []struct {
		code        rest.Code
		name, value string
	}{
		{"MismatchingSubscriptionWithUrl", "subscription", r.Path["subscription"]},
		{"MismatchingResourceGroupNameWithUrl", "resource group", r.Path["resourceGroup"]},
		{"MismatchingServerNameWithUrl", "server", r.Path["server"]},
	} {
		if !strings.EqualFold(m[i+1], part.value) {
			return nil, badAgent(part.code, target, "The %s '%s' of the database differs from '%s' in the URL.", part.name, m[i+1], part.value)
		}
	}
	if slices.ContainsFunc([]string{"master", "model", "msdb", "tempdb"}, func(s string) bool { return strings.EqualFold(s, m[4]) }) {
		return nil, badAgent("CannotUseReservedDatabaseName", target, "The system database '%s' cannot hold a job agent.", m[4])
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name, m[4]) {
			return e, nil
		}
	}
	return nil, badAgent("DatabaseDoesNotExist", target, "The server '%s' has no database '%s'.", r.Path["server"], m[4])
}

// skuPattern matches the names of SKUs.
var skuPattern = regexp.MustCompile(`(?i)^JA([1-9][0-9]{0,4})$`)

// change adds the SKU to a change.
func (s skuBody) change(c *account.Change) error {
	if s.Name == "" {
		return badAgent("MissingSkuName", "$.sku.name", "The name of the SKU is missing: want JA100, JA200, JA400 or JA800.")
	}
	m := skuPattern.FindStringSubmatch(s.Name)
	switch {
	case m != nil:
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 10_000 {
			return badAgent("ElasticJobAgentEditionUnsupported", "$.sku.name", "Invalid SKU '%s': want JA1 to JA10000.", s.Name)
		}
		if s.Capacity != nil && int(*s.Capacity) != n {
			return badAgent("SkuMismatchingNameCapacity", "$.sku.capacity", "The capacity %d does not match the SKU '%s'.", *s.Capacity, s.Name)
		}
	case !strings.EqualFold(s.Name, "Agent"):
		return badAgent("ElasticJobAgentEditionUnsupported", "$.sku.name", "Invalid SKU '%s': want JA100, JA200, JA400, JA800, or Agent.", s.Name)
	case s.Capacity != nil && (*s.Capacity < 1 || *s.Capacity > 10_000):
		return badAgent("SkuMismatchingNameCapacity", "$.sku.capacity", "Invalid capacity %d: want 1 to 10000.", *s.Capacity)
	}
	c.SKU = &s.Name
	if s.Capacity != nil {
		n := int(*s.Capacity)
		c.Capacity = &n
	}
	return nil
}

// identity adds the identity to a change.
func (a *agents) identity(b *identityBody, c *account.Change) error {
	none := ""
	switch {
	case b.Type == "":
		return badAgent("MissingIdentityType", "$.identity.type", "The type of the identity is missing: want None or UserAssigned.")
	case strings.EqualFold(b.Type, "None"):
		c.Identity = &none
		return nil
	case !strings.EqualFold(b.Type, "UserAssigned"):
		return badAgent("InvalidIdentityType", "$.identity.type", "Invalid type '%s' of the identity: want None or UserAssigned.", b.Type)
	case b.TenantID != "":
		return badAgent("InvalidIdentityTenantId", "$.identity.tenantId", "A tenant cannot be given with the identity of a job agent.")
	case len(b.UserAssignedIdentities) == 0:
		return badAgent("MissingUserAssignedIdentities", "$.identity.userAssignedIdentities", "The identity is missing: want exactly one.")
	case len(b.UserAssignedIdentities) > 1:
		return badAgent("MultipleIdentitiesOnJobAgent", "$.identity.userAssignedIdentities", "A job agent can have one identity, not %d.", len(b.UserAssignedIdentities))
	}
	id := slices.Collect(maps.Keys(b.UserAssignedIdentities))[0]
	if _, ok := a.identities[strings.ToLower(id)]; !ok {
		return badAgent("InvalidResourceId", "$.identity.userAssignedIdentities", "The identity '%s' is not in the configuration of the agents.", id)
	}
	c.Identity = &id
	return nil
}

// checkTags applies Azure's limits: 50 tags, names of 512 and values of 256 characters
// (https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations).
func checkTags(tags map[string]string) error {
	if len(tags) > 50 {
		return badAgent(codeAgentBody, "$.tags", "There are %d tags: want at most 50.", len(tags))
	}
	for name, value := range tags {
		if name == "" || len([]rune(name)) > 512 || len([]rune(value)) > 256 {
			return badAgent(codeAgentBody, "$.tags", "Invalid tag '%.50s': want a name of 1 to 512 and a value of at most 256 characters.", name)
		}
	}
	return nil
}

// agentError translates an error of the control database about job agents.
func agentError(err error) error {
	text := cmp.Or(dberror.MessageOf(err), err.Error())
	switch {
	case errors.Is(err, dberror.ErrAgentName):
		return badAgent(codeAgentBody, "$.name", "%s", text)
	case errors.Is(err, dberror.ErrAgentCapacity):
		return badAgent("SkuMismatchingNameCapacity", "$.sku", "%s", text)
	case errors.Is(err, dberror.ErrAgentLinked):
		return badAgent("JobAgentDatabaseAlreadyLinked", "$.properties.databaseId", "%s", text)
	case errors.Is(err, dberror.ErrAgentBusy):
		return &rest.Error{Status: http.StatusConflict, Code: "OperationInterrupted", Message: text, RetryAfter: operationPollAfter}
	case errors.Is(err, dberror.ErrAgentUnavailable):
		return agentFault(http.StatusConflict, "ElasticJobAgentOperationUnavailable", "", "%s", text)
	case errors.Is(err, dberror.ErrAgentNotFound):
		return agentFault(http.StatusNotFound, "ResourceNotFound", "", "%s", text)
	}
	return err
}

// agentID returns the resource id of a job agent.
func agentID(subscription, group, server, agent string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/%s/%s/jobAgents/%s",
		subscription, group, strings.TrimSuffix(typeAgent, "/jobAgents"), server, agent)
}

// view returns a job agent for an answer, with names as they are stored and configured.
func (a *agents) view(f found) agentView {
	e, agent := f.entry, f.agent
	v := agentView{
		ID: agentID(e.Subscription, e.ResourceGroup, e.Server, agent.Name), Name: agent.Name, Type: typeAgent, Location: e.Location,
		SKU: skuView{Name: agent.SKU, Capacity: agent.Capacity},
		Properties: agentPropertiesView{
			DatabaseID: fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Sql/servers/%s/databases/%s",
				e.Subscription, e.ResourceGroup, e.Server, e.Name),
			State: publicState(agent.State),
		},
	}
	if agent.Location != "" {
		v.Location = agent.Location
	}
	v.Tags, _ = agent.Tags() // the database has checked them
	if agent.Identity != "" {
		one := a.identities[strings.ToLower(agent.Identity)]
		v.Identity = &identityView{
			Type: "UserAssigned", UserAssignedIdentities: map[string]userIdentity{agent.Identity: userIdentity(one)},
		}
	}
	return v
}

// publicState returns a state as the API knows it. An implicit agent is Ready. A job agent that is
// Faulted shows as Disabled: clients know no other state in which nothing works.
func publicState(s account.State) string {
	switch s {
	case account.AgentNone:
		return string(account.AgentReady)
	case account.AgentFaulted:
		return string(account.AgentDisabled)
	}
	return string(s)
}
