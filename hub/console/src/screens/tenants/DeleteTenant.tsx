import { Button } from "@mantine/core";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Dialog } from "../../ui/Dialog";
import { ConfirmDialog } from "../../ui/Form";
import classes from "../../ui/Form.module.css";
import { deleteTenant, type Tenant } from "./queries";

/**
 * DeleteTenant asks for a tenant's name before it is deleted, and says what ended with it. One of
 * a hosted product has to be suspended first.
 */
export function DeleteTenant({ tenant, hosted, onClose, onDone }: { tenant: Tenant; hosted: boolean; onClose: () => void; onDone: () => unknown }) {
	const { t } = useLanguage();
	const { tenants: texts } = useScreenTexts();
	const close = (
		<Button size="xs" variant="default" onClick={onClose}>
			{t.help.close}
		</Button>
	);
	if (hosted && !tenant.suspended_at)
		return (
			<Dialog title={texts.deleteTenant} onClose={onClose}>
				<div className={classes.form}>
					<p>{texts.suspendFirst(tenant.name)}</p>
					{close}
				</div>
			</Dialog>
		);
	const done = hosted ? texts.deletedHosted : texts.deletedTenant;
	return (
		<ConfirmDialog
			title={texts.deleteTenant}
			text={(hosted ? texts.deleteHostedText : texts.deleteTenantText)(tenant.name, tenant.product)}
			name={tenant.name}
			onClose={onClose}
			onDone={onDone}
			send={() => deleteTenant(tenant.id)}
			result={({ name, keys, endpoints }) => (
				<>
					<p role="status">{done(name, keys, endpoints)}</p>
					{close}
				</>
			)}
		/>
	);
}
