package sap

import (
	"fmt"
	"net"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
)

// auditActions are SAP's names of the operations that it audits.
var auditActions = map[string]string{
	"Jobs_Create": "JobCreation", "Jobs_Put": "JobConfiguration", "Jobs_Delete": "JobDeletion", "Schedules_Create": "JobCreation",
	"Schedules_Update": "JobScheduleConfiguration", "Schedules_Delete": "JobScheduleDeletion", "Schedules_DeleteAll": "JobScheduleRemoval",
	"Schedules_Activate": "JobScheduleActivation", "GlobalParameters_Update": "GlobalConfigUpdate",
}

// auditInfo is the part Info of an audit line.
type auditInfo struct {
	UserID          string         `json:"userId"`
	UserName        string         `json:"userName"`
	ServiceInstance string         `json:"serviceInstance"`
	AuthType        string         `json:"authType"`
	GrantType       string         `json:"grantType,omitempty"`
	Tenant          auditTenant    `json:"tenantInfo"`
	Resource        auditResource  `json:"resourceContext"`
	Error           *auditErrorRef `json:"error,omitempty"`
}

type auditTenant struct {
	Type           string `json:"type"`
	SubDomain      string `json:"subDomain,omitempty"`
	ProviderTenant string `json:"providerTenant"`
	ConsumerTenant string `json:"consumerTenant"`
	ClientID       string `json:"clientId,omitempty"`
	ZoneID         string `json:"zoneId"`
}

type auditResource struct {
	Method     string `json:"httpMethod"`
	Path       string `json:"path"`
	SourceIP   string `json:"sourceIp"`
	JobID      string `json:"jobId,omitempty"`
	ScheduleID string `json:"scheduleId,omitempty"`
}

type auditErrorRef struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// audit writes SAP's line about the beginning of a request, and returns a function that
// writes the line about its end. The control database keeps the audit log of its own; these lines
// are for tools that read those of SAP's service.
func (s *Surface) audit(id string, c *call) (finish func(error)) {
	action := auditActions[id]
	if action == "" {
		return func(error) {}
	}
	info := c.auditInfo()
	s.auditLine(action, "START", c, info)
	return func(err error) {
		if err != nil {
			body, _ := s.Failure(c.Request, err).Body.(errorBody)
			info.Error = &auditErrorRef{Code: body.Code, Message: body.Message}
		}
		s.auditLine(action, "END", c, info)
	}
}

// auditLine writes a line.
func (s *Surface) auditLine(action, phase string, c *call, info auditInfo) {
	text, err := encode(info)
	if err != nil { // not for texts and numbers
		text = []byte("{}")
	}
	s.log.Info(fmt.Sprintf("JOB-SCHEDULING-SERVICE - Action: %s - Correlation-ID: %s - Request phase: %s - Info: %s",
		action, c.CorrelationID, phase, text), zap.String("tenant", c.tenant))
}

// auditInfo describes the caller and the resource of a request.
func (c *call) auditInfo() auditInfo {
	i := auditInfo{
		UserID: c.Principal.ID, UserName: c.Principal.Name, ServiceInstance: c.service.Name, AuthType: "oauth", GrantType: "client_credentials",
		Tenant: auditTenant{Type: "SaaS", ProviderTenant: c.service.Tenant, ConsumerTenant: c.tenant, ZoneID: c.tenant},
		Resource: auditResource{
			Method: c.HTTP.Method, Path: c.HTTP.URL.EscapedPath(), JobID: c.Path["jobId"], ScheduleID: c.Path["scheduleId"],
		},
	}
	if c.provider {
		i.Tenant.Type, i.Tenant.SubDomain = "PaaS", c.service.SubDomain
	}
	if strings.HasPrefix(c.Principal.ID, "basic:") {
		i.AuthType, i.GrantType = "basic", ""
	} else {
		i.Tenant.ClientID = c.Principal.Name
	}
	if host, _, err := net.SplitHostPort(c.HTTP.RemoteAddr); err == nil {
		i.Resource.SourceIP = host
	}
	return i
}

// forbidden is the answer to requests that the caller may not make.
func forbidden() error {
	return &rest.Error{Status: http.StatusForbidden, Code: rest.CodeForbidden, Message: "Forbidden"}
}
