package gateway

import (
	"context"
	"net/http"

	"github.com/jobagent/jobagent/agent/rest"
)

// oldMetadata is the answer to the versions 1.0 and 2015-01-01.
type oldMetadata struct {
	GalleryEndpoint string            `json:"galleryEndpoint"`
	GraphEndpoint   string            `json:"graphEndpoint"`
	PortalEndpoint  string            `json:"portalEndpoint"`
	Authentication  oldAuthentication `json:"authentication"`
}

type oldAuthentication struct {
	LoginEndpoint string   `json:"loginEndpoint"`
	Audiences     []string `json:"audiences"`
}

// metadata is the answer to all later versions. Services that this cloud lacks have empty
// addresses.
type metadata struct {
	Name                       string           `json:"name"`
	ResourceManager            string           `json:"resourceManager"`
	Portal                     string           `json:"portal"`
	Authentication             authentication   `json:"authentication"`
	Suffixes                   metadataSuffixes `json:"suffixes"`
	Graph                      string           `json:"graph"`
	GraphAudience              string           `json:"graphAudience"`
	MicrosoftGraphResourceID   string           `json:"microsoftGraphResourceId"`
	Gallery                    string           `json:"gallery"`
	Batch                      string           `json:"batch"`
	Media                      string           `json:"media"`
	SQLManagement              string           `json:"sqlManagement"`
	VMImageAliasDoc            string           `json:"vmImageAliasDoc"`
	ActiveDirectoryDataLake    string           `json:"activeDirectoryDataLake"`
	OssrDbmsResourceID         string           `json:"ossrDbmsResourceId"`
	AttestationResourceID      string           `json:"attestationResourceId"`
	LogAnalyticsResourceID     string           `json:"logAnalyticsResourceId"`
	SynapseAnalyticsResourceID string           `json:"synapseAnalyticsResourceId"`
	AppInsightsResourceID      string           `json:"appInsightsResourceId"`
}

type authentication struct {
	LoginEndpoint    string   `json:"loginEndpoint"`
	Audiences        []string `json:"audiences"`
	Tenant           string   `json:"tenant"`
	IdentityProvider string   `json:"identityProvider"`
}

type metadataSuffixes struct {
	SQLServerHostname              string `json:"sqlServerHostname"`
	Storage                        string `json:"storage"`
	KeyVaultDNS                    string `json:"keyVaultDns"`
	ACRLoginServer                 string `json:"acrLoginServer"`
	AzureDataLakeStoreFileSystem   string `json:"azureDataLakeStoreFileSystem"`
	AzureDataLakeAnalyticsCatalog  string `json:"azureDataLakeAnalyticsCatalogAndJob"`
	AzureFrontDoorEndpointSuffix   string `json:"azureFrontDoorEndpointSuffix"`
	SynapseAnalytics               string `json:"synapseAnalytics"`
	MHSMDNS                        string `json:"mhsmDns"`
	MySQLServerEndpoint            string `json:"mysqlServerEndpoint"`
	PostgresqlServerEndpoint       string `json:"postgresqlServerEndpoint"`
	MariadbServerEndpoint          string `json:"mariadbServerEndpoint"`
	StorageSyncEndpointSuffix      string `json:"storageSyncEndpointSuffix"`
	AttestationEndpoint            string `json:"attestationEndpoint"`
	AppConfigurationEndpointSuffix string `json:"appConfigurationEndpoint"`
}

// metadata answers the addresses of this cloud. They come from the configuration alone: the
// header Host is the caller's to choose.
func (g *Gateway) metadata(_ context.Context, r *rest.Request) (*rest.Response, error) {
	version, _ := r.Query.Get("api-version")
	if version == "1.0" || version == "2015-01-01" {
		return &rest.Response{Status: http.StatusOK, Body: oldMetadata{
			GalleryEndpoint: g.cfg.PublicURL, GraphEndpoint: g.cfg.PublicURL, PortalEndpoint: g.cfg.PublicURL,
			Authentication: oldAuthentication{LoginEndpoint: g.cfg.LoginEndpoint, Audiences: g.cfg.Audiences},
		}}, nil
	}
	suffix := ""
	if entries := g.cfg.Directory.Entries(); len(entries) > 0 {
		suffix = entries[0].DNSSuffix
		for _, e := range entries[1:] {
			if e.DNSSuffix != suffix {
				suffix = ""
			}
		}
	}
	return &rest.Response{Status: http.StatusOK, Body: metadata{
		Name: "jobagent", ResourceManager: g.cfg.PublicURL, Portal: g.cfg.PublicURL,
		Authentication: authentication{
			LoginEndpoint: g.cfg.LoginEndpoint, Audiences: g.cfg.Audiences, Tenant: "common", IdentityProvider: "AAD",
		},
		Suffixes: metadataSuffixes{SQLServerHostname: suffix},
	}}, nil
}
