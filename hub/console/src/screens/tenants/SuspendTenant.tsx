import { useScreenTexts } from "../../i18n/screens";
import { ConfirmDialog, FormDialog } from "../../ui/Form";
import { resumeTenant, suspendTenant, type Tenant } from "./queries";

type Props = { tenant: Tenant; onClose: () => void; onDone: () => unknown };

/** SuspendTenant says what stops with a tenant before it is suspended. */
export function SuspendTenant({ tenant, ...rest }: Props) {
	const { tenants: texts } = useScreenTexts();
	return <ConfirmDialog title={texts.suspendTenant} text={texts.suspendTenantText(tenant.name, tenant.product)} send={() => suspendTenant(tenant.id)} {...rest} />;
}

/** ResumeTenant says what goes on before a tenant is resumed. */
export function ResumeTenant({ tenant, ...rest }: Props) {
	const { tenants: texts } = useScreenTexts();
	return (
		<FormDialog title={texts.resumeTenant} send={() => resumeTenant(tenant.id)} {...rest}>
			<p>{texts.resumeTenantText(tenant.name, tenant.product)}</p>
		</FormDialog>
	);
}
