// The control database on Azure SQL Database, with logins of Microsoft Entra ID only, and agents on Azure Container Apps with managed identities:
// there is no password anywhere. One identity is the agent's on the control database. Another one is that of the scripts on target databases.
// Nobody has deployed this file yet. See ../PRODUCTION.md.
//
//   az deployment group create --resource-group jobagent --template-file jobagent.bicep \
//     --parameters adminName='DBA team' adminObjectId=GUID image=registry.example.com/jobagent:0.1.0

@description('Name of the Entra group or user that administers the server.')
param adminName string
@description('Object ID of that group or user.')
param adminObjectId string
@description('Image of jobagent.')
param image string
@description('Agents. Any number may work side by side; two survive the loss of one.')
@minValue(1)
param agents int = 2
@description('Servers on which the identity of scripts may be used, as the configuration names them.')
param targetServers array = ['*${environment().suffixes.sqlServerHostname}']
param location string = resourceGroup().location

var name = 'jobagent${uniqueString(resourceGroup().id)}'

resource control 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: 'jobagent-control'
  location: location
}

resource scripts 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: 'jobagent-scripts'
  location: location
}

resource server 'Microsoft.Sql/servers@2021-11-01' = {
  name: name
  location: location
  properties: {
    minimalTlsVersion: '1.2'
    administrators: {
      administratorType: 'ActiveDirectory'
      azureADOnlyAuthentication: true
      login: adminName
      sid: adminObjectId
      tenantId: tenant().tenantId
    }
  }
}

// Smaller tiers govern the log rate below what one large run needs (dba/SIZING.md).
resource database 'Microsoft.Sql/servers/databases@2021-11-01' = {
  parent: server
  name: 'jobs'
  location: location
  sku: {
    name: 'S3'
    tier: 'Standard'
  }
}

// Services of Azure may connect, and need a login. With a virtual network, use a private endpoint in place of this rule.
resource services 'Microsoft.Sql/servers/firewallRules@2021-11-01' = {
  parent: server
  name: 'AllowAllWindowsAzureIps'
  properties: {
    startIpAddress: '0.0.0.0'
    endIpAddress: '0.0.0.0'
  }
}

resource logs 'Microsoft.OperationalInsights/workspaces@2022-10-01' = {
  name: name
  location: location
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: 30
  }
}

resource place 'Microsoft.App/managedEnvironments@2024-03-01' = {
  name: 'jobagent'
  location: location
  properties: {
    appLogsConfiguration: {
      destination: 'log-analytics'
      logAnalyticsConfiguration: {
        customerId: logs.properties.customerId
        sharedKey: logs.listKeys().primarySharedKey
      }
    }
  }
}

var config = {
  dsn: 'sqlserver://${control.properties.clientId}@${server.properties.fullyQualifiedDomainName}?database=jobs&fedauth=ActiveDirectoryManagedIdentity'
  targets: { default_credential: 'scripts' }
  credentials: [
    { name: 'scripts', kind: 'managed-identity', user: scripts.properties.clientId, servers: targetServers }
  ]
  metrics: { listen: ':9464', insecure_http: true }
}

resource agent 'Microsoft.App/containerApps@2024-03-01' = {
  name: 'jobagent-agent'
  location: location
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${control.id}': {}
      '${scripts.id}': {}
    }
  }
  properties: {
    managedEnvironmentId: place.id
    configuration: {
      activeRevisionsMode: 'Single'
      // The configuration holds no secret; a volume of secrets is how a container app gets a file.
      secrets: [
        { name: 'jobagent-json', value: string(config) }
      ]
    }
    template: {
      // Beyond the agent's grace period of 30 s.
      terminationGracePeriodSeconds: 60
      containers: [
        {
          name: 'agent'
          image: image
          args: ['run', '--config', '/etc/jobagent/jobagent.json']
          resources: { cpu: json('0.5'), memory: '1Gi' }
          probes: [
            { type: 'Liveness', httpGet: { path: '/healthz', port: 9464 }, periodSeconds: 10, failureThreshold: 6 }
            { type: 'Readiness', httpGet: { path: '/readyz', port: 9464 }, periodSeconds: 10 }
          ]
          volumeMounts: [
            { volumeName: 'config', mountPath: '/etc/jobagent' }
          ]
        }
      ]
      volumes: [
        { name: 'config', storageType: 'Secret', secrets: [ { secretRef: 'jobagent-json', path: 'jobagent.json' } ] }
      ]
      scale: { minReplicas: agents, maxReplicas: agents }
    }
  }
}

output controlServer string = server.properties.fullyQualifiedDomainName
output controlIdentity string = control.name
output scriptsIdentity string = scripts.name
