package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
)

// parents returns the operations of the resources above job agents and collections. They are
// labels of the configuration, so they can only be read. A caller sees those above something that
// the caller may read.
func (g *Gateway) parents() []rest.Operation {
	const (
		subscription = "/subscriptions/{subscription}"
		group        = subscription + "/resourceGroups/{resourceGroup}"
		servers      = "/providers/Microsoft.Sql/servers"
		server       = group + servers + "/{server}"
	)
	get := func(id, path, summary string, handle func(context.Context, *rest.Request) (*rest.Response, error)) rest.Operation {
		return rest.Operation{ID: id, Method: http.MethodGet, Path: path, Authenticated: true, Summary: summary, Handle: handle}
	}
	return []rest.Operation{
		get("Tenants_List", "/tenants", "List the only tenant.", g.listTenants),
		get("Subscriptions_List", "/subscriptions", "List subscriptions.", g.listSubscriptions),
		get("Subscriptions_Get", subscription, "Get a subscription.", g.getSubscription),
		get("Subscriptions_ListLocations", subscription+"/locations", "List locations.", g.listLocations),
		get("Providers_List", subscription+"/providers", "List resource providers.", g.listProviders),
		get("Providers_Get", subscription+"/providers/{namespace}", "Get a resource provider.", g.getProvider),
		{
			ID: "Providers_Register", Method: http.MethodPost, Path: subscription + "/providers/{namespace}/register",
			Authenticated: true, Summary: "Register a resource provider; all are registered.", Handle: g.getProvider,
		},
		get("ResourceGroups_List", subscription+"/resourceGroups", "List resource groups.", g.listGroups),
		get("ResourceGroups_Get", group, "Get a resource group.", g.getGroup),
		get("Servers_List", subscription+servers, "List servers of a subscription.", g.listServers),
		get("Servers_ListByResourceGroup", group+servers, "List servers of a resource group.", g.listServers),
		get("Servers_Get", server, "Get a server.", g.getServer),
		get("Databases_ListByServer", server+"/databases", "List the control databases of a server.", g.listDatabases),
		get("Databases_Get", server+"/databases/{database}", "Get a control database.", g.getDatabase),
	}
}

// visible returns the entries that the caller sees, and that match the parameters of the path.
func (g *Gateway) visible(r *rest.Request) (list []*rest.Entry) {
	matches := func(parameter, value string) bool {
		want, ok := r.Path[parameter]
		return !ok || strings.EqualFold(want, value)
	}
	for _, e := range g.cfg.Directory.Entries() {
		if matches("subscription", e.Subscription) && matches("resourceGroup", e.ResourceGroup) && matches("server", e.Server) &&
			matches("database", e.Name) && g.sees(r, e) {
			list = append(list, e)
		}
	}
	return list
}

// sees reports whether the caller may see an entry: something in its server, or in its resource
// group beside servers, such as collections of jobs.
func (g *Gateway) sees(r *rest.Request, e *rest.Entry) bool {
	group := rest.Scope{Subscription: e.Subscription, ResourceGroup: e.ResourceGroup}
	server := group
	server.Server = e.Server
	return g.cfg.Authorizer.Sees(r.Principal, "sql", server) || g.cfg.Authorizer.Sees(r.Principal, "scheduler", group)
}

// list answers a list of what make returns for each entry, without duplicates of key.
func list[T any](entries []*rest.Entry, key func(*rest.Entry) string, one func(*rest.Entry) T) *rest.Response {
	values, seen := []T{}, map[string]bool{}
	for _, e := range entries {
		if k := strings.ToLower(key(e)); !seen[k] {
			seen[k] = true
			values = append(values, one(e))
		}
	}
	return &rest.Response{Status: http.StatusOK, Body: map[string]any{"value": values}}
}

// single answers what make returns for the first entry, or that there is none.
func single[T any](r *rest.Request, entries []*rest.Entry, code rest.Code, kind, parameter string, one func(*rest.Entry) T) (*rest.Response, error) {
	if len(entries) == 0 {
		return nil, &rest.Error{
			Status: http.StatusNotFound, Code: code, Message: fmt.Sprintf("The %s '%s' could not be found.", kind, r.Path[parameter]),
		}
	}
	return &rest.Response{Status: http.StatusOK, Body: one(entries[0])}, nil
}

func (g *Gateway) listTenants(context.Context, *rest.Request) (*rest.Response, error) {
	return &rest.Response{Status: http.StatusOK, Body: map[string]any{"value": []map[string]string{
		{"id": "/tenants/" + g.cfg.TenantID, "tenantId": g.cfg.TenantID, "displayName": "jobagent"},
	}}}, nil
}

// subscriptionBody is a subscription.
type subscriptionBody struct {
	ID                   string            `json:"id"`
	AuthorizationSource  string            `json:"authorizationSource"`
	SubscriptionID       string            `json:"subscriptionId"`
	TenantID             string            `json:"tenantId"`
	DisplayName          string            `json:"displayName"`
	State                string            `json:"state"`
	SubscriptionPolicies map[string]string `json:"subscriptionPolicies"`
}

func (g *Gateway) subscription(e *rest.Entry) subscriptionBody {
	id := strings.ToLower(e.Subscription)
	return subscriptionBody{
		ID: "/subscriptions/" + id, AuthorizationSource: "RoleBased", SubscriptionID: id, TenantID: g.cfg.TenantID,
		DisplayName: "jobagent " + id, State: "Enabled",
		SubscriptionPolicies: map[string]string{"locationPlacementId": "Internal_2014-09-01", "quotaId": "Internal_2014-09-01", "spendingLimit": "Off"},
	}
}

func subscriptionOf(e *rest.Entry) string { return e.Subscription }

func (g *Gateway) listSubscriptions(_ context.Context, r *rest.Request) (*rest.Response, error) {
	return list(g.visible(r), subscriptionOf, g.subscription), nil
}

func (g *Gateway) getSubscription(_ context.Context, r *rest.Request) (*rest.Response, error) {
	return single(r, g.visible(r), rest.CodeSubscriptionNotFound, "subscription", "subscription", g.subscription)
}

// inSubscription returns the visible entries, or the error that the subscription is unknown.
func (g *Gateway) inSubscription(r *rest.Request) ([]*rest.Entry, error) {
	if _, err := g.cfg.Directory.InSubscription(r.Path["subscription"]); err != nil {
		return nil, err
	}
	return g.visible(r), nil
}

func (g *Gateway) listLocations(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inSubscription(r)
	if err != nil {
		return nil, err
	}
	return list(entries, locationOf, func(e *rest.Entry) map[string]string {
		return map[string]string{
			"id": "/subscriptions/" + strings.ToLower(e.Subscription) + "/locations/" + locationOf(e), "name": locationOf(e),
			"type": "Region", "displayName": e.Location, "regionalDisplayName": e.Location,
		}
	}), nil
}

// locationOf returns the name of a location.
func locationOf(e *rest.Entry) string {
	return strings.ToLower(strings.ReplaceAll(e.Location, " ", ""))
}

// providerBody is a resource provider.
type providerBody struct {
	ID                 string             `json:"id"`
	Namespace          string             `json:"namespace"`
	RegistrationPolicy string             `json:"registrationPolicy"`
	RegistrationState  string             `json:"registrationState"`
	ResourceTypes      []resourceTypeBody `json:"resourceTypes"`
}

type resourceTypeBody struct {
	ResourceType string   `json:"resourceType"`
	Locations    []string `json:"locations"`
	APIVersions  []string `json:"apiVersions"`
	Capabilities string   `json:"capabilities"`
}

// providers are the namespaces, with the types that clients look up.
var providers = []struct {
	namespace string
	types     []string
	versions  []string
}{
	{"Microsoft.Sql", []string{
		"servers", "servers/databases", "servers/jobAgents", "servers/jobAgents/credentials", "servers/jobAgents/jobs",
		"servers/jobAgents/jobs/executions", "servers/jobAgents/jobs/steps", "servers/jobAgents/privateEndpoints", "servers/jobAgents/targetGroups",
	}, []string{"2025-01-01", "2023-08-01", "2023-08-01-preview", "2023-05-01-preview", "2021-11-01", "2020-11-01-preview", "2017-03-01-preview"}},
	{"Microsoft.Scheduler", []string{"jobCollections", "jobCollections/jobs"}, []string{"2016-03-01", "2016-01-01", "2014-08-01-preview"}},
	{"Microsoft.Resources", []string{"subscriptions", "tenants", "resourceGroups"}, []string{"2022-09-01", "2021-04-01", "2016-09-01"}},
}

func providersOf(subscription string, entries []*rest.Entry) (all []providerBody) {
	locations := []string{}
	for _, e := range entries {
		if !slices.Contains(locations, e.Location) {
			locations = append(locations, e.Location)
		}
	}
	for _, p := range providers {
		body := providerBody{
			ID: "/subscriptions/" + strings.ToLower(subscription) + "/providers/" + p.namespace, Namespace: p.namespace,
			RegistrationPolicy: "RegistrationFree", RegistrationState: "Registered",
		}
		for _, t := range p.types {
			body.ResourceTypes = append(body.ResourceTypes, resourceTypeBody{
				ResourceType: t, Locations: locations, APIVersions: p.versions, Capabilities: "None",
			})
		}
		all = append(all, body)
	}
	return all
}

func (g *Gateway) listProviders(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inSubscription(r)
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK, Body: map[string]any{"value": providersOf(r.Path["subscription"], entries)}}, nil
}

func (g *Gateway) getProvider(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inSubscription(r)
	if err != nil {
		return nil, err
	}
	for _, p := range providersOf(r.Path["subscription"], entries) {
		if strings.EqualFold(p.Namespace, r.Path["namespace"]) {
			return &rest.Response{Status: http.StatusOK, Body: p}, nil
		}
	}
	return nil, &rest.Error{
		Status: http.StatusNotFound, Code: "InvalidResourceNamespace",
		Message: fmt.Sprintf("The resource namespace '%s' is invalid.", r.Path["namespace"]),
	}
}

// resource is a resource with properties.
type resource struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Type       string            `json:"type"`
	Location   string            `json:"location"`
	Kind       string            `json:"kind,omitempty"`
	SKU        map[string]string `json:"sku,omitempty"`
	Tags       map[string]string `json:"tags"`
	Properties map[string]string `json:"properties"`
}

func groupID(e *rest.Entry) string {
	return "/subscriptions/" + strings.ToLower(e.Subscription) + "/resourceGroups/" + e.ResourceGroup
}

func groupOf(e *rest.Entry) resource {
	return resource{
		ID: groupID(e), Name: e.ResourceGroup, Type: "Microsoft.Resources/resourceGroups", Location: e.Location,
		Tags: map[string]string{}, Properties: map[string]string{"provisioningState": "Succeeded"},
	}
}

func (g *Gateway) listGroups(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inSubscription(r)
	if err != nil {
		return nil, err
	}
	return list(entries, groupID, groupOf), nil
}

func (g *Gateway) getGroup(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inSubscription(r)
	if err != nil {
		return nil, err
	}
	return single(r, entries, "ResourceGroupNotFound", "resource group", "resourceGroup", groupOf)
}

func serverID(e *rest.Entry) string {
	return groupID(e) + "/providers/Microsoft.Sql/servers/" + e.Server
}

func serverOf(e *rest.Entry) resource {
	return resource{
		ID: serverID(e), Name: e.Server, Type: "Microsoft.Sql/servers", Location: e.Location, Kind: "v12.0", Tags: map[string]string{},
		Properties: map[string]string{
			"version": "12.0", "state": "Ready", "fullyQualifiedDomainName": e.Server + e.DNSSuffix, "publicNetworkAccess": "Enabled",
		},
	}
}

func (g *Gateway) listServers(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inSubscription(r)
	if err != nil {
		return nil, err
	}
	return list(entries, serverID, serverOf), nil
}

// inServer returns the visible entries of a server, or the error that it is unknown.
func (g *Gateway) inServer(r *rest.Request) ([]*rest.Entry, error) {
	if _, err := g.cfg.Directory.InServer(r.Path["subscription"], r.Path["resourceGroup"], r.Path["server"]); err != nil {
		return nil, err
	}
	return g.visible(r), nil
}

func (g *Gateway) getServer(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inServer(r)
	if err != nil {
		return nil, err
	}
	return single(r, entries, rest.CodeHidden, "server", "server", serverOf)
}

func databaseID(e *rest.Entry) string { return serverID(e) + "/databases/" + e.Name }

func databaseOf(e *rest.Entry) resource {
	return resource{
		ID: databaseID(e), Name: e.Name, Type: "Microsoft.Sql/servers/databases", Location: e.Location, Kind: "v12.0,user",
		SKU: map[string]string{"name": "Standard", "tier": "Standard"}, Tags: map[string]string{},
		Properties: map[string]string{"status": "Online"},
	}
}

func (g *Gateway) listDatabases(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inServer(r)
	if err != nil {
		return nil, err
	}
	return list(entries, databaseID, databaseOf), nil
}

func (g *Gateway) getDatabase(_ context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := g.inServer(r)
	if err != nil {
		return nil, err
	}
	return single(r, entries, rest.CodeHidden, "database", "database", databaseOf)
}
