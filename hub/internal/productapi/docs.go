package productapi

import "integrationhub/hub/module/rest"

// docs describes the hub's own operations of each product in the OpenAPI document.
var docs = rest.Docs{
	Tags: []rest.Tag{
		{Name: "health", Description: "Whether the product serves."},
		{Name: "integrations", Description: "Connections to other products, and what those ask this one for."},
	},
	Operations: map[string]rest.OperationDoc{
		"health.get":                 {Text: "For load balancers and monitors; needs no credentials and is not recorded. It responds 503 while the database does not respond."},
		"api-keys.create":            {Text: "The key is in this response and nowhere else. The other product registers its webhook with it, or sends requests. A tenant has at most 100 valid keys in an environment, besides those of its integrations.", Errors: []string{"422 too_many_keys"}},
		"api-keys.list":              {Text: "Keys of the tenant in this environment, the newest first, without their secrets."},
		"api-keys.revoke":            {Text: "Requests with the key are refused from now on. Revoking it again changes nothing."},
		"api-keys.rotate":            {Text: "Makes a key with the same scopes. The old one works until the overlap ends.", Errors: []string{"409 key_not_active", "422 too_many_keys"}},
		"integrations.connect":       {Text: "Asks the other product who it is, registers this product's address with it and stores both keys. Connecting again renews the connection. Fails whole: nothing is stored unless the other side agreed.", Errors: []string{"409 key_in_use, other_account_connected, peer_refused", "422 product_not_hosted, environment_mismatch, remote_key_rejected, unexpected_product, peer_not_active, peer_refused, url_not_allowed", "502 peer_unreachable, peer_answer, peer_limited, egress", "503 handshake_under_way"}},
		"integrations.list":          {Text: "Connections of the tenant in this environment."},
		"integrations.status":        {Text: "With a key: which product and tenant this is and what it offers. With an access token: the tenant's integrations."},
		"webhook-logs.list":          {Text: "What was sent to connected products and endpoints, and what came from them."},
		"webhook-logs.get":           {Text: "The delivery, the event's body unless it was erased, and every attempt with what was sent and what came back."},
		"webhook-logs.retry":         {Text: "Makes it pending again, with up to four new attempts.", Errors: []string{"409 payload_gone, erased, received_delivery, endpoint_disabled"}},
		"audit-log.list":             {Text: "What users, keys and the hub did with the tenant's data."},
		"integrations.register":      {Text: "The other product says where it receives events, and with which secret they are signed. Registering again replaces that.", Errors: []string{"409 key_in_use, other_account_connected, integration_revoked", "422 environment_mismatch, unexpected_product, url_not_allowed", "503 handshake_under_way"}},
		"integrations.unregister":    {Text: "The other product ends the connection; the key is revoked with it.", Errors: []string{"404 not_registered, not_found"}},
		"integrations.webhook":       {Text: "Takes one event of the other product, signed over the exact body. The same id counts once. For an event of which nothing is known here the response says ignored.", Errors: []string{"401 invalid_signature", "400 event_too_old, event_in_future", "403 wrong_product", "409 event_id_reused"}},
		"integrations.get":           {Text: "One connection of the tenant."},
		"integrations.revoke":        {Text: "Revokes both keys and says so to the other product, if it responds. Parked events stay in the log.", Errors: []string{"409 integration_revoked"}},
		"integrations.test":          {Text: "Asks the other product for its status and stores the outcome; one that does not respond is a 200 with ok false.", Errors: []string{"409 integration_inactive, integration_revoked, peer_not_known"}},
		"integrations.rotate-secret": {Text: "Sends the new secret to the other product. Both secrets are accepted until the overlap ends.", Errors: []string{"409 integration_inactive, integration_revoked, handshake_overtook, peer_not_known, peer_refused", "422 remote_key_rejected, peer_refused", "429 rotated_too_often", "502 peer_unreachable, peer_answer, peer_limited, egress", "503 handshake_under_way"}},
		"integrations.disable":       {Text: "Until it is enabled, its events are parked and its webhooks refused with 403.", Errors: []string{"409 integration_revoked"}},
		"integrations.enable":        {Text: "What was parked meanwhile is sent, oldest first.", Errors: []string{"409 integration_revoked"}},
	},
}
