package sap

import (
	"context"
	"net/http"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/jobs/wording"
)

// subscriptionRequest is the body of a subscription.
type subscriptionRequest struct {
	SubDomain string `json:"subdomain"`
}

// adminOperations are the operations about tenants (S-58, S-59). They are ours: SAP's service gets
// these calls from the platform.
func (s *Surface) adminOperations() []rest.Operation {
	const path = "/admin/tenants/{tenantId}/subscriptions/{app}"
	put := s.op(http.MethodPut, "Subscriptions_Put", "", rest.RoleAdmin, (*call).subscribe,
		"Subscribes a tenant to an application of the provider.", typeFor[subscriptionRequest](), nil)
	remove := s.op(http.MethodDelete, "Subscriptions_Delete", "", rest.RoleAdmin, (*call).unsubscribe,
		"Removes a subscription. The last one of a tenant deletes the tenant's jobs.", nil, nil)
	list := s.op(http.MethodGet, "Tenants_List", "", rest.RoleAdmin, (*call).listTenants, "Lists the tenants with their subscriptions.", nil, typeFor[[]tenantBody]())
	put.Path, remove.Path, list.Path = path, path, "/admin/tenants"
	return []rest.Operation{put, remove, list}
}

// tenantBody is a tenant.
type tenantBody struct {
	ID         string   `json:"tenantId"`
	SubDomain  string   `json:"subdomain"`
	Provider   bool     `json:"provider"`
	Subscribed bool     `json:"subscribed"`
	CreatedAt  *string  `json:"createdAt"`
	Apps       []string `json:"subscriptions"`
}

// listTenants lists the tenants of the instance.
func (c *call) listTenants(ctx context.Context) (*rest.Response, error) {
	if !c.provider {
		return nil, forbidden()
	}
	list, err := sap.On(c.service.Store).Tenants(ctx, "")
	if err != nil {
		return nil, err
	}
	tenants := make([]tenantBody, len(list))
	for i, t := range list {
		tenants[i] = tenantBody{ID: t.ID, SubDomain: t.SubDomain, Provider: t.Provider, Subscribed: t.Subscribed, CreatedAt: formatTime(t.CreatedAt, stamp), Apps: t.Apps}
	}
	return ok(tenants)
}

// subscription returns the tenant and the application of the path.
func (c *call) subscription() (tenant, app string, err error) {
	if !c.provider {
		return "", "", forbidden()
	}
	tenant, app = c.Path["tenantId"], c.Path["app"]
	for _, text := range []string{tenant, app} {
		if wording.Length(text, wording.UTF16) > maxTenant {
			return "", "", errNotFound
		}
	}
	return tenant, app, nil
}

// subscribe adds a subscription. A repeat changes nothing.
func (c *call) subscribe(ctx context.Context) (*rest.Response, error) {
	tenant, app, err := c.subscription()
	if err != nil {
		return nil, err
	}
	if tenant == c.service.Tenant {
		return nil, invalid(inAction, fault{text: "The provider's tenant needs no subscription"})
	}
	subDomain := ""
	if len(c.Body) > 0 {
		v, faults := readObject(c.Body)
		if len(faults) > 0 {
			return nil, invalid(inAction, faults...)
		}
		if m := v.Get("subdomain"); m != nil {
			if subDomain = m.Text; m.Kind != '"' || wording.Length(subDomain, wording.UTF16) > maxTenant {
				return nil, invalid(inAction, fault{text: "'subdomain' must be of type 'string', of at most 128 characters"})
			}
		}
	}
	if err := sap.On(c.service.Store).Subscribe(ctx, tenant, subDomain, app); err != nil {
		return nil, err
	}
	return ok(successBody{Success: true})
}

// unsubscribe removes a subscription.
func (c *call) unsubscribe(ctx context.Context) (*rest.Response, error) {
	tenant, app, err := c.subscription()
	if err != nil {
		return nil, err
	}
	if err := sap.On(c.service.Store).Unsubscribe(ctx, tenant, app); err != nil {
		return nil, err
	}
	return ok(successBody{Success: true})
}
