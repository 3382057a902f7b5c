package integration

import (
	"integrationhub/hub"
)

// A tenant is connected to one account of a product at a time. The account is the one
// that the peer's status names, not its address, which may change. Integrations whose
// peer names no account are indistinguishable, so each handshake counts as the same one.

// ClaimAccount assigns the integration to an account of the peer's product. samePeer
// reports whether the claimant's key or registration is already the integration's; account
// is "" if unknown. A linked integration of another account is a [hub.ErrConflict].
//
// A claim by another account after the integration ended makes it new: it loses the
// secrets, keys and addresses of the previous account, and so do events on their way.
func (i *Integration) ClaimAccount(samePeer bool, account string) (isNew bool, err error) {
	bothKnown := i.PeerAccount != "" && account != ""
	isSameAccount := samePeer || bothKnown && i.PeerAccount == account
	switch {
	case isSameAccount:
	case !i.IsLinked():
		if i.PeerAccount != "" {
			i.AccountSince = i.RevokedAt
			if i.AccountSince == nil {
				i.AccountSince = new(i.UpdatedAt)
			}
		}
		i.clearPeer()
		isNew = true
	case bothKnown:
		return false, hub.Errorf(hub.ErrConflict, hub.CodeOtherAccountConnected,
			"Another account of %s is connected already: revoke that integration first.", i.Product)
	}
	if account != "" || !isSameAccount {
		i.PeerAccount = account
	}
	return isNew, nil
}

// clearPeer drops everything the integration has of its peer.
func (i *Integration) clearPeer() {
	i.Secret, i.PreviousSecret, i.PreviousSecretExpiresAt, i.PendingSecret = nil, nil, nil, nil
	i.RemoteKey, i.RemoteKeyLast4, i.PreviousRemoteKey, i.IsLink = nil, "", nil, false
	i.PendingLocalKey, i.PendingLocalKeyID = nil, nil
	i.APIURL, i.PeerWebhookURL, i.PeerIntegrationID = "", "", ""
	i.Features, i.EventTypes = []string{}, []string{"*"}
}
