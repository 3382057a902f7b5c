import { Button } from "@mantine/core";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { ConfirmDialog } from "../../ui/Form";
import { deleteTenant, type Tenant } from "./queries";

/** DeleteTenant asks for a tenant's name before it is deleted, and says what ended with it. */
export function DeleteTenant({ tenant, onClose, onDone }: { tenant: Tenant; onClose: () => void; onDone: () => unknown }) {
	const { t } = useLanguage();
	const { tenants: texts } = useScreenTexts();
	return (
		<ConfirmDialog
			title={texts.deleteTenant}
			text={texts.deleteTenantText(tenant.name, tenant.product)}
			name={tenant.name}
			onClose={onClose}
			onDone={onDone}
			send={() => deleteTenant(tenant.id)}
			result={({ name, keys, endpoints }) => (
				<>
					<p role="status">{texts.deletedTenant(name, keys, endpoints)}</p>
					<Button size="xs" variant="default" onClick={onClose}>
						{t.help.close}
					</Button>
				</>
			)}
		/>
	);
}
